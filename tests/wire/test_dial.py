"""The dial on a real API server: pods get their setting at once, and the operator may change nothing else of a pod."""

import json
import pathlib
import time
import uuid
from typing import Any

import pytest

from specdec_operator.names import DIAL_ANNOTATION
from specdec_runtime.dial import schedule, setting
from tests.wire.api import ISVC, POD, SIS, Api, Object, Refused, connected
from tests.wire.dialled import following
from tests.wire.guests import SPECULATES, THEIRS, guest, serve
from tests.wire.install import operator_kubeconfig
from tests.wire.operator import OperatorProcess
from tests.wire.pods import EngineStandIn
from tests.wire.world import NAME, World, sis

PODS = 20
HANGING = 2
BY_LOAD = [{"upTo": 4, "tokens": 4}, {"tokens": 0}]


def engine(tokens: int = 4, **more: Any) -> EngineStandIn:
    """A busy engine whose page reports what it drafts."""
    page = {"offered": True, "tokens": tokens, "started": 4, "why": ""}
    return EngineStandIn(tokens_per_second=200.0, dial=json.dumps(page).encode(), **more)


async def annotations(world: World) -> dict[str, str]:
    """The setting of each pod."""
    found = await world.api.items(POD, world.namespace)
    return {
        each["metadata"]["name"]: each["metadata"].get("annotations", {}).get(DIAL_ANNOTATION, "") for each in found
    }


async def ask(world: World, text: str | None) -> None:
    """A user sets the annotation of the service, or removes it."""
    await world.api.merge(SIS, world.namespace, NAME, {"metadata": {"annotations": {DIAL_ANNOTATION: text}}})


async def test_twenty_pods_get_their_setting_although_two_of_them_hang(world: World, operator: OperatorProcess) -> None:
    """The runtime's own reader takes the setting; the status counts those that follow, and names one other."""
    engines = [engine() for _ in range(PODS)]
    await world.apply(sis(replicas=PODS))
    await world.roll_out(await world.child(speculative=True), *engines)
    await world.phase("Watching")
    for each in engines[:HANGING]:
        each.hangs = True
    begun = time.monotonic()
    await ask(world, "off")

    async def all_set() -> bool:
        return all((await annotations(world)).values())

    await world.until("each pod's setting", all_set)
    print(f"{PODS} pods were set after {time.monotonic() - begun:.2f} s, {HANGING} of them hang")
    texts = (await annotations(world)).values()
    assert {setting.parse(each.encode()).tokens for each in texts} == {0}
    for each in engines:
        each.dial = json.dumps({"offered": True, "tokens": 0, "started": 4, "why": ""}).encode()

    async def follow() -> bool:
        dial = (await world.status()).get("dial", {})
        return (dial.get("pods"), dial.get("inForce")) == (PODS, PODS - HANGING)

    await world.until("the others follow", follow)
    assert "does not answer" in (await world.status())["dial"]["message"]
    await ask(world, None)

    async def none_set() -> bool:
        return not any((await annotations(world)).values())

    await world.until("no pod's setting", none_set)
    await world.event("DialReset")


async def reduced(world: World) -> Object | None:
    """The status, as soon as fewer tokens are in force in the pod and a window of them has passed."""
    status = await world.status()
    dial, guard = status.get("dial", {}), status.get("guard", {})
    in_force = (dial.get("pods"), dial.get("inForce")) == (1, 1) and guard.get("reduced", {}).get("dialled")
    return status if in_force and guard.get("verdict") == "Pass" else None


async def test_fewer_tokens_need_no_second_pod_and_the_next_step_follows_if_they_fail(
    world: World, operator: OperatorProcess
) -> None:
    """A service of one pod. Its InferenceService and its pod stay until the rollback."""
    late = engine()
    late.tokens_per_second = 2000.0  # a window of so many drafts proves that two tokens would have passed
    async with following(world, late):
        await world.apply(sis(guard={"response": ["ReduceTokens", "RollBack"], "retry": {"limit": 0}}))
        (pod,) = await world.roll_out(await world.child(speculative=True), late)
        await world.verdict("Pass")
        before = await world.child(speculative=True)
        late.acceptance, late.falls = 0.23, 0.1  # a collapse with four tokens, of which the first are still good
        status = await world.until("fewer tokens in force", lambda: reduced(world))
        tokens = status["guard"]["reduced"]["tokens"]
        assert (status["phase"], status["dial"]["tokens"], late.drafting) == ("Watching", tokens, tokens)
        assert 0 < tokens < 4
        assert [status["serving"][each] for each in ("tokens", "drafted")] == [4, tokens]
        assert setting.parse((await annotations(world))[pod].encode()).tokens == tokens
        child = await world.child(speculative=True)
        assert child["metadata"]["generation"] == before["metadata"]["generation"]
        await world.event("ReducingTokens")
        late.acceptance = 0.0
        await world.child(speculative=False)
        status = await world.phase("Responding")
        assert (status["guard"]["rollback"]["reason"], "reduced" in status["guard"]) == ("AcceptanceRateLow", False)

        async def drafts_nothing() -> bool:
            return late.drafting == 0

        await world.until("nothing drafted by the pod that is replaced", drafts_nothing)


async def by_load(world: World) -> Object | None:
    """The status, as soon as tokens by load are in force in the pod and a window of them has passed."""
    status = await world.status()
    dial, guard = status.get("dial", {}), status.get("guard", {})
    in_force = (dial.get("pods"), dial.get("inForce")) == (1, 1) and dial.get("tokensByBatchSize")
    return status if in_force and guard.get("verdict") == "Pass" else None


async def test_tokens_by_load_of_a_status_are_set_again_until_the_user_sets_their_own(
    world: World, operator: OperatorProcess
) -> None:
    """The decision outlives the operator, and the runtime's own reader takes the rows."""
    draft = engine()
    async with following(world, draft):
        await world.apply(sis(guard={"tokens": "Adapt"}))
        (pod,) = await world.roll_out(await world.child(speculative=True), draft)
        await world.verdict("Pass")
        await operator.stop()
        adapted = {"reason": "Adapted", "message": "m", "at": "2026-01-31T12:00:00Z", "tokensByBatchSize": BY_LOAD}
        await world.api.merge(SIS, world.namespace, NAME, {"status": {"guard": {"adapted": adapted}}}, "status")
        await operator.start()
        status = await world.until("tokens by load in force", lambda: by_load(world))
        assert (status["guard"]["adapted"], status["dial"]["tokensByBatchSize"]) == (adapted, BY_LOAD)
        assert "drafted" not in status["serving"]
        found = setting.parse((await annotations(world))[pod].encode())
        assert (found.tokens, schedule.shown(found.rows)) == (4, BY_LOAD)
        await ask(world, "2")

        async def by_hand() -> bool:
            dial = (await world.status()).get("dial", {})
            return draft.drafting == 2 and dial.get("tokens") == 2 and "tokensByBatchSize" not in dial

        await world.until("the user's own tokens", by_hand)


async def theirs(world: World) -> Object:
    """The spec of the guest."""
    found = await world.api.get(ISVC, world.namespace, THEIRS)
    assert found is not None
    return dict(found["spec"])


async def test_an_allowed_guest_is_dialled_and_its_spec_stays(world: World, operator: OperatorProcess) -> None:
    """By hand, and by the guard before it removes the flags. The setting has the label that its volume shows."""
    draft = engine()
    async with following(world, draft):
        await serve(world, draft, args=["--model=/m", SPECULATES], leave=True, dial=True)
        before = await theirs(world)
        await world.apply(guest(guard={"mode": "Enforce"}))
        await world.verdict("Pass")
        await ask(world, "off")

        async def in_force() -> bool:
            dial = (await world.status()).get("dial", {})
            return (dial.get("pods"), dial.get("inForce"), draft.drafting) == (1, 1, 0)

        await world.until("nothing drafted", in_force)
        (pod,) = await world.api.items(POD, world.namespace)
        text = pod["metadata"]["annotations"][DIAL_ANNOTATION]
        assert setting.parse(text.encode()).revision == pod["metadata"]["labels"]["pod-template-hash"]
        await ask(world, None)
        await world.event("DialReset")
        await world.verdict("Pass")
        draft.acceptance = 0.0
        await world.phase("Dialled")
        await world.until("nothing drafted again", in_force)
        assert await theirs(world) == before


async def test_a_guest_without_its_owners_permission_is_not_dialled(world: World, operator: OperatorProcess) -> None:
    """The status shows the command that gives it. No pod gets the annotation."""
    draft = engine()
    async with following(world, draft):
        await serve(world, draft, args=["--model=/m", SPECULATES], dial=True)
        await world.apply(guest(guard={"mode": "Enforce"}))
        await world.verdict("Pass")
        await ask(world, "off")
        await world.event("DialRefused")
        dial = (await world.status())["dial"]
        assert (dial["reason"], f"kubectl annotate isvc {THEIRS}" in dial["message"]) == ("Refused", True)
        assert not any((await annotations(world)).values())
        assert draft.drafting is None


@pytest.fixture
async def own(api: Api, kubeconfig: pathlib.Path, tmp_path: pathlib.Path) -> pathlib.Path:
    """A kubeconfig of the operator's account."""
    return await operator_kubeconfig(api, kubeconfig, tmp_path / "own")


@pytest.mark.parametrize(
    ("change", "allowed"),
    [
        ({"metadata": {"annotations": {DIAL_ANNOTATION: "{}"}}}, True),
        ({"metadata": {"annotations": {DIAL_ANNOTATION: None}}}, True),
        ({"metadata": {"annotations": {DIAL_ANNOTATION: "{}", "other": "1"}}}, False),
        ({"metadata": {"annotations": {"theirs": "2"}}}, False),
        ({"metadata": {"annotations": {"theirs": None}}}, False),
        ({"metadata": {"labels": {"app": "other"}}}, False),
        ({"metadata": {"labels": {"mine": None}}}, False),
        ({"metadata": {"finalizers": ["example.com/never"]}}, False),
        ({"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "y"}]}}, False),
        ({"spec": {"containers": [{"name": "c", "image": "other"}]}}, False),
        ({"spec": {"activeDeadlineSeconds": 1}}, False),
    ],
    ids=str,
)
async def test_a_token_of_the_operator_changes_one_annotation_of_a_pod_and_nothing_else(
    world: World, own: pathlib.Path, change: Object, allowed: bool
) -> None:
    """The policy of manifests/dial, by the API server's own answer. An administrator may do all of it."""
    meta = {"name": "victim", "labels": {"mine": "1"}, "annotations": {"theirs": "1"}}
    await world.api.create(
        POD, world.namespace, {"metadata": meta, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    )

    async def refused() -> bool:
        """A new policy needs a moment until the API server asks it. A change that changes nothing is not refused."""
        async with connected(own) as client:
            try:
                await client.merge(
                    POD, world.namespace, "victim", {"metadata": {"labels": {"probe": uuid.uuid4().hex}}}
                )
            except Refused as error:
                return "annotation specdec.io/dial" in str(error)
        return False

    await world.until("the policy in force", refused)
    async with connected(own) as client:
        if allowed:
            await client.merge(POD, world.namespace, "victim", change)
        else:
            with pytest.raises(Refused, match=r"may change annotation specdec\.io/dial of a pod"):
                await client.merge(POD, world.namespace, "victim", change)
