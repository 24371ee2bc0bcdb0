"""Malicious tenants, against a real API server: their accepted objects disturb no other user and gain nothing."""

import asyncio
import json

import pytest

from tests.hostile_http import Asked, HostileServer, replying
from tests.unit.tenants import FLAGS, SOUND, URIS
from tests.wire.api import EVENT, ISVC, POD, SIS, Object, Refused
from tests.wire.operator import OperatorProcess
from tests.wire.pods import EngineStandIn, PodServer
from tests.wire.world import World, sis

TOKENS = 400.0
MARKER = "credential-of-another-tenant"
PRIVILEGES = {"hostNetwork": True, "hostPID": True, "containers": [{"securityContext": {"privileged": True}}]}
ENV: Object = {"secretKeyRef": {"name": "s", "key": "k", "namespace": "kube-system"}}
ILL: tuple[Object, ...] = (
    *({**SOUND[0], "engine": {"accelerator": "cpu", "args": [each]}} for each in FLAGS if "\0" not in each),
    *({**SOUND[0], "model": {"uri": each}} for each in URIS if "\0" not in each),
    {**SOUND[0], "pod": PRIVILEGES},
    {**SOUND[0], "pod": {"imagePullSecrets": [{"name": "s", "namespace": "kube-system"}]}},
    {**SOUND[0], "pod": {"tolerations": [{"hostPath": "/", "operator": 5}]}},
    {**SOUND[0], "pod": {"labels": {"serving.specdec.io/name": "llama"}}},
    {**SOUND[0], "pod": {"labels": {"a b": "c d"}}},
    {**SOUND[0], "resources": {"limits": {"cpu": "much"}, "hostPath": "/"}},
    {**SOUND[0], "resources": {"limits": 5}},
    {**SOUND[0], "engine": {"accelerator": "cpu", "env": [{"name": "A"}, {"name": "A"}, {}]}},
    {**SOUND[0], "engine": {"accelerator": "cpu", "env": [{"name": "A", "valueFrom": ENV}]}},
    {**SOUND[1], "speculation": {"method": "ngram", "tokens": 3, "options": {"model": "/etc", "method": "x"}}},
    {**SOUND[3], "staging": {**SOUND[3]["staging"], "env": [{}]}},
)


async def test_no_sis_of_a_tenant_disturbs_the_guard_of_another(world: World, operator: OperatorProcess) -> None:
    """All that the API server takes are there at once, beside a draft that goes bad: it is taken out as ever."""
    good = EngineStandIn(tokens_per_second=TOKENS)
    await world.apply(sis())
    await world.roll_out(await world.child(speculative=True), good)
    taken = [name for number, spec in enumerate(ILL) if (name := await _applied(world, f"ill-{number}", spec))]
    assert taken
    await world.phase("Watching")
    await world.until("an answer to each", lambda: _answered(world, taken))
    good.acceptance = 0.0
    await world.child(speculative=False)
    for child in await world.api.items(ISVC, world.namespace):
        predictor, name = child["spec"]["predictor"], child["metadata"]["name"]
        assert not {*PRIVILEGES, "securityContext"} & {*predictor, *predictor["model"]}, name
        assert not any("hostPath" in volume for volume in predictor["volumes"]), name
    lines = [json.loads(line) for line in operator.log.read_text().splitlines() if line.startswith("{")]
    assert [line["message"] for line in lines if "Traceback" in line["message"] or "exc_info" in line] == []


async def _applied(world: World, name: str, spec: Object) -> str:
    """Its name; empty where the CRD does not take it."""
    body = {"apiVersion": SIS[0], "kind": "SpeculativeInferenceService", "metadata": {"name": name}, "spec": spec}
    try:
        await world.api.create(SIS, world.namespace, body)
    except Refused as error:
        if error.status not in (400, 422):
            raise
        return ""
    return name


async def _answered(world: World, names: list[str]) -> bool:
    """Whether the operator has written a status of each."""
    found = {each["metadata"]["name"]: each for each in await world.api.items(SIS, world.namespace)}
    return all(found[name].get("status", {}).get("observedGeneration") for name in names)


async def test_a_pod_of_a_stranger_with_the_labels_of_the_service_is_never_asked(
    world: World, operator: OperatorProcess
) -> None:
    """Its metrics do not count either: the service's own pod is measured, and passes."""
    own = EngineStandIn(tokens_per_second=TOKENS)
    stranger = EngineStandIn(tokens_per_second=TOKENS, acceptance=0.0)
    await world.apply(sis())
    await world.roll_out(await world.child(speculative=True), own)
    server = PodServer(stranger)
    await server.start()
    try:
        await _copied(world, server.address)
        await world.verdict("Pass")
    finally:
        await server.stop()
    assert (own.asked > 0, stranger.asked) == (True, 0)


async def _copied(world: World, address: str) -> None:
    """A ready pod with the labels of the service's own, and without an owner.

    It lacks one label, which ReplicaSets set: the ReplicaSet would adopt or delete a pod with it.
    """
    (own,) = await world.api.items(POD, world.namespace)
    labels = {name: value for name, value in own["metadata"]["labels"].items() if name != "pod-template-hash"}
    containers = [{"name": "kserve-container", "image": "i"}]
    meta = {"name": "stranger", "labels": labels}
    body = {"metadata": meta, "spec": {"containers": containers}}
    await world.api.create(POD, world.namespace, body)
    status = own["status"] | {"podIP": address, "podIPs": [{"ip": address}]}
    await world.api.merge(POD, world.namespace, "stranger", {"status": status}, "status")


@pytest.fixture
def environment() -> dict[str, str]:
    """Every Prometheus server may be asked."""
    return {"SPECDEC_PROMETHEUS_URLS": "*"}


@pytest.mark.parametrize("status", [200, 302, 500])
async def test_an_answer_that_has_no_metrics_is_never_shown(
    world: World, operator: OperatorProcess, status: int
) -> None:
    """A guard may name any server; a reader of status, Events, logs or metrics sees nothing of the server's answer."""
    asked = asyncio.Event()

    def reply(_: Asked) -> tuple[int, str]:
        asked.set()
        return status, f'{{"error": "{MARKER}"}}'

    async with HostileServer(replying(reply, f"Location: /{MARKER}".encode())) as server:
        await world.apply(sis(guard={"source": {"prometheus": {"url": server.url}}}))
        await world.roll_out(await world.child(speculative=True), EngineStandIn(tokens_per_second=TOKENS))
        await asyncio.wait_for(asked.wait(), 60)
        await world.verdict("ScrapeFailed")
    told = [json.dumps(await world.sis()), json.dumps(await world.api.items(EVENT, world.namespace))]
    assert [MARKER in text for text in (*told, operator.log.read_text())] == [False] * 3
