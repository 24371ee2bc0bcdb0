"""`specdec status`, `rollback`, `retry`, `hold` and `release` against a real API server, as programs."""

import asyncio
import json

from tests.wire.command import WATCHING, Command, Said, report
from tests.wire.operator import OperatorProcess
from tests.wire.pods import EngineStandIn
from tests.wire.world import NAME, World, sis


async def _annotation(world: World, name: str) -> str | None:
    found: str | None = (await world.sis())["metadata"].get("annotations", {}).get(f"specdec.io/{name}")
    return found


async def test_a_status_is_shown_to_people_and_to_programs(world: World, specdec: Command) -> None:
    """A pipe gets no colours; JSON is the object, without what only the API server needs."""
    await world.apply(sis())
    await report(world, WATCHING)
    said = await specdec("status", NAME)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(f"{world.namespace}/{NAME}  Watching for ")
    assert all(word in said.out for word in ("draft_model, 4 tokens per step", "Pass: acceptance 0.78", "0.90"))
    assert "\x1b" not in said.out
    shown = json.loads((await specdec("status", NAME, "--json")).out)
    assert shown["status"]["guard"]["verdict"] == "Pass"
    assert "managedFields" not in shown["metadata"]


async def test_all_services_are_listed_as_kubectl_lists_them(world: World, specdec: Command) -> None:
    """The columns are the CRD's own, so both agree; -A shows the namespace of each one."""
    await world.apply(sis())
    await report(world, WATCHING)
    head, row = (await specdec("status")).out.splitlines()
    columns = dict(zip(head.split(), row.split(), strict=True))
    assert columns.pop("AGE").endswith("s")
    assert columns == {
        "NAME": NAME,
        "READY": "True",
        "PHASE": "Watching",
        "METHOD": "draft_model",
        "K": "4",
        "ACCEPT": "0.78",
        "SPEEDUP": "1.5",
    }
    everywhere = (await specdec("status", "-A")).out.splitlines()
    assert everywhere[0].startswith("NAMESPACE")
    assert [world.namespace, NAME] in [each.split()[:2] for each in everywhere]
    listed = json.loads((await specdec("status", "--json")).out)
    assert [each["metadata"]["name"] for each in listed["items"]] == [NAME]


async def test_an_empty_namespace_is_not_an_error(world: World, specdec: Command) -> None:
    """As with kubectl."""
    said = await specdec("status")
    assert said == Said(code=0, out="", err=f"no services in namespace {world.namespace}\n")


async def test_a_rollback_is_a_new_value_each_time_and_leaves_the_spec_alone(world: World, specdec: Command) -> None:
    """The value has time and reason; the spec stays as it is in Git."""
    before = await world.apply(sis())
    await report(world, WATCHING)
    said = await specdec("rollback", NAME, "--reason", "too\nslow")
    assert said.code == 0
    assert f"`specdec retry {NAME}`" in said.out
    first = await _annotation(world, "rollback")
    assert first is not None
    assert first.endswith("Z too slow")
    await specdec("rollback", NAME)
    after = await world.sis()
    assert after["metadata"]["annotations"]["specdec.io/rollback"] != first
    assert (after["spec"], after["metadata"]["generation"]) == (before["spec"], before["metadata"]["generation"])


async def test_a_wait_without_an_operator_ends(world: World, specdec: Command) -> None:
    """The annotation stays, and the error names the way out."""
    await world.apply(sis())
    await report(world, WATCHING)
    said = await specdec("rollback", NAME, "--wait", "--timeout", "2s")
    assert said.code == 1
    assert "the operator has not handled the request within" in said.err
    assert await _annotation(world, "rollback")


async def test_the_command_and_the_operator_understand_each_other(
    world: World, operator: OperatorProcess, specdec: Command
) -> None:
    """`specdec rollback --wait` ends when it is done, `retry` brings it back, `status` shows it."""
    await world.apply(sis())
    await world.roll_out(await world.child(speculative=True), EngineStandIn(tokens_per_second=400.0))
    await world.verdict("Pass")
    said = await specdec("status", NAME)
    assert (said.code, "Watching" in said.out, "0.80" in said.out) == (0, True, True)
    rolling = asyncio.ensure_future(specdec("rollback", NAME, "--wait", "--reason", "on call"))
    await world.roll_out(await world.child(speculative=False), EngineStandIn(speculative=False))
    assert (await rolling).code == 0
    said = await specdec("status", NAME)
    assert "on call" in said.out
    assert (await specdec("hold", NAME)).code == 0
    await world.condition("Held", "True")
    assert (await specdec("release", NAME)).code == 0
    retrying = asyncio.ensure_future(specdec("retry", NAME, "--wait"))
    await world.roll_out(await world.child(speculative=True), EngineStandIn(tokens_per_second=400.0))
    assert (await retrying).code == 0
    assert (await world.status())["phase"] == "Watching"


async def test_a_hold_is_there_until_it_is_released(world: World, specdec: Command) -> None:
    """Both commands may be repeated; a second hold keeps the first one's time and reason."""
    await world.apply(sis())
    await report(world, WATCHING)
    assert "was not held" in (await specdec("release", NAME)).out
    assert (await specdec("hold", NAME, "--reason", "load test")).code == 0
    held = await _annotation(world, "hold")
    assert held is not None
    assert held.endswith("Z load test")
    again = await specdec("hold", NAME)
    assert again.code == 0
    assert "is held already" in again.out
    assert await _annotation(world, "hold") == held
    assert "load test" in (await specdec("status", NAME)).out
    assert (await specdec("release", NAME)).code == 0
    assert await _annotation(world, "hold") is None
