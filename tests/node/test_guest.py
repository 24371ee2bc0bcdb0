"""An InferenceService of another owner is guarded in place on real pods, and then moved over to a service."""

import shlex
from collections.abc import AsyncIterator

import pytest
import yaml
from typer.testing import CliRunner

from specdec_command.cli.commands import application
from specdec_operator import names
from tests.node import client
from tests.node.asking import Client
from tests.node.film import Film
from tests.node.service import Service, Traffic
from tests.node.theirs import FLAG, RUNTIME, as_script, isvc, runtime
from tests.wire.api import ISVC, SIS, Object, Refused

_STARTS = 300.0
_KEPT = 0.01
"""Share of the requests that may fail on kept connections."""


def guard(service: Service, mode: str) -> Object:
    """The lines of `specdec guard`, with windows of seconds."""
    quick = {"interval": "1s", "window": "6s", "warmup": "1s", "failureLimit": 2, "minDraftTokens": 200}
    return {
        "apiVersion": SIS[0],
        "kind": "SpeculativeInferenceService",
        "metadata": {"name": service.name},
        "spec": {"inferenceServiceRef": {"name": service.name}, "guard": quick | {"mode": mode}},
    }


async def asked(service: Service) -> Object:
    """Command and args of the InferenceService."""
    found = await service.child()
    return {name: found["model"].get(name) for name in ("command", "args")}


@pytest.fixture
async def theirs(service: Service) -> AsyncIterator[Service]:
    """The InferenceService of another owner; it is deleted before the test looks at the namespace."""
    await service.api.apply(RUNTIME, service.namespace, runtime(service.name), "somebody")
    await service.api.apply(ISVC, service.namespace, isvc(service.name), "somebody")
    try:
        yield service
    finally:
        await service.api.delete(ISVC, service.namespace, service.name)
        await service.api.delete(RUNTIME, service.namespace, f"{service.name}-vllm")


async def test_a_guest_is_observed_then_enforced_and_restored(theirs: Service) -> None:
    """The draft is good on code and fails on drift prompts; its flag goes once that is asked for, and comes back.

    It stands in a script, beside characters that the API server escapes in JSON.
    """
    written = isvc(theirs.name)
    written["spec"]["predictor"]["model"] |= as_script(written["spec"]["predictor"]["model"]["args"])
    await theirs.api.apply(ISVC, theirs.namespace, written, "somebody")
    before = await asked(theirs)
    await theirs.api.apply(SIS, theirs.namespace, guard(theirs, "Observe"))
    await theirs.phase("Watching", seconds=_STARTS)
    status = await theirs.verdict("Pass", "code", 120)
    assert (status["serving"]["method"], status["serving"]["tokens"]) == ("draft_model", 4)
    async with Traffic(theirs, "drift"):

        async def told() -> Object | None:
            return (await theirs.status())["guard"].get("would")

        would = await theirs.until("what would have been done", told, 120)
    assert (would["action"], await asked(theirs)) == ("RollBack", before)

    await theirs.api.apply(SIS, theirs.namespace, guard(theirs, "Enforce"))
    await theirs.condition("Enforcing", "Allowed")
    async with Traffic(theirs, "drift"):
        await theirs.phase("Responding", seconds=180)
    await theirs.phase("RolledBack", seconds=_STARTS)
    without = await asked(theirs)
    assert without["args"] == [before["args"][0].replace(f" {shlex.quote(FLAG)}", "")] != before["args"]
    async with Traffic(theirs, "code"):  # the baseline pod answers
        await theirs.condition("Ready", "Serving")

    await theirs.api.delete(SIS, theirs.namespace, theirs.name)

    async def restored() -> bool:
        return await asked(theirs) == before

    await theirs.until("the flag as it was", restored, 60)


async def test_it_is_imported_and_moved_over_in_place(theirs: Service, film: Film) -> None:
    """The name stays: the operator takes the InferenceService over, and its pods start next to the old ones.

    A client that opens a connection for each request loses none. An engine without the operator's runtime answers kept
    connections with 500 while it stops: a few requests of more than a thousand.
    """
    live = await theirs.api.get(ISVC, theirs.namespace, theirs.name)
    made = _imported(live)
    made["metadata"]["annotations"] = {names.ADOPT_ANNOTATION: "true"}
    made["spec"]["rollout"] = {"strategy": "Surge", "deadline": "5m"}

    async def answers() -> bool:
        # not a prompt of a few tokens: as the first request it kills vLLM 0.32 on a CPU with AMX (docs/engine.md)
        try:
            return bool(await theirs.ask(theirs.prompt("code", 0), max_tokens=4))
        except Refused:
            return False

    await theirs.until("their pods to answer", answers, _STARTS)
    asking = Client(theirs, film)
    await asking.start("code")
    try:
        await theirs.api.apply(SIS, theirs.namespace, made)
        await theirs.phase("Watching", seconds=_STARTS)
        tally = await asking.tally()
    finally:
        await asking.stop()
    print(f"moved over: {tally}")
    found = await theirs.api.get(ISVC, theirs.namespace, theirs.name)
    assert found is not None
    assert found["metadata"]["uid"] == (live or {})["metadata"]["uid"]
    assert found["metadata"]["ownerReferences"][0]["kind"] == names.KIND
    assert not [each for each in tally["faults"] if " fresh: " in each]
    assert tally["failed"] < _KEPT * sum(tally[kind] for kind in client.PAUSES), tally["faults"]


def _imported(live: Object | None) -> Object:
    """What `specdec import` makes of it. The command lists the runtime as not carried over."""
    result = CliRunner().invoke(application(), ["import", "-"], input=yaml.safe_dump(live))
    assert result.exit_code == 3, result.output
    told = [each for each in result.stdout.splitlines() if each.startswith("# NOT CARRIED OVER")]
    body: Object = yaml.safe_load(result.stdout)
    print("\n".join(told))
    return body
