"""`specdec tune` over HTTP, against the stand-in: what is turned and asked, what is put back, and when it gives up."""

import asyncio
from pathlib import Path

import pytest
from tests.unit.measure.standin import StandIn, service

from specdec_command.measure.benchmark import Unmeasurable
from specdec_command.measure.prompts import digest, parse
from specdec_command.tune import dial
from specdec_command.tune import run as shell
from specdec_command.tune.order import TuneJob, TuneOrder
from specdec_command.tune.run import run
from specdec_command.tune.tuning import Tuning
from specdec_operator.errors import Invalid
from specdec_operator.names import DIAL_ANNOTATION

PROMPTS = parse('{"prompt": "a"}\n{"prompt": "b"}\n{"messages": [{"role": "user", "content": "c"}]}\n', "three.jsonl")
RESET = {DIAL_ANNOTATION: None}


def job(concurrencies: tuple[int, ...] = (1,), tokens: tuple[int, ...] = (0, 2), repeats: int = 2) -> TuneJob:
    order = TuneOrder(
        source="three.jsonl",
        prompts=len(PROMPTS),
        digest=digest(PROMPTS),
        concurrencies=concurrencies,
        tokens=tokens,
        repeats=repeats,
        max_tokens=8,
    )
    return TuneJob(namespace=None, name="llama", order=order, prompts=PROMPTS, at="2026-01-01")


async def tuned(world: StandIn, folder: Path, wanted: TuneJob, said: list[str] | None = None) -> Tuning:
    return await run(wanted, world.kubeconfig(folder), (said if said is not None else []).append)


async def test_every_number_is_set_asked_and_reset(tmp_path: Path) -> None:
    """The dial has an end of its own, in case that the command is killed; the requested number is tried too."""
    world, said = StandIn(services={"llama": service()}), list[str]()
    async with world.running():
        found = await tuned(world, tmp_path, job((1, 3)), said)
    turned = [each[DIAL_ANNOTATION] for each in world.annotated]
    assert [int(each.split()[0]) for each in turned[:-1]] == [each.turn.tokens for each in found.repeats]
    assert {each.turn.tokens for each in found.repeats} == {0, 2, 4}
    assert all(" until 20" in each for each in turned[:-1])
    assert len({each.partition(dial.TUNING)[2] for each in turned[:-1]}) == 1
    salts = [body["cache_salt"] for _, body in world.requests[3:]]
    assert [len({*salts[first : first + 8]}) for first in range(0, 48, 8)] == [1] * 6
    assert len({*salts}) == 12
    assert turned[-1] is None
    assert len(world.requests) == 3 + 2 * 3 * (8 + 9)
    assert {each.turn.tokens for each in found.repeats if not each.drafting.drafted} == {0}
    assert [each.load.concurrency for each in found.loads] == [1, 3]
    assert said[0] == "llama: 12 rounds, with 0, 2, 4 draft tokens in turn"
    assert said[-1] == "llama: the dial is reset, so each pod goes back to its flags"


@pytest.mark.parametrize(("turned_to", "after"), [(None, None), ("0 incident 7", "0 incident 7")])
async def test_a_dial_that_another_user_sets_meanwhile_ends_it_and_stays(
    tmp_path: Path, turned_to: str | None, after: str | None
) -> None:
    """It is a decision of theirs, perhaps in an emergency."""
    world = StandIn(services={"llama": service()}, turned_after=6, turned_to=turned_to)
    async with world.running():
        with pytest.raises(Unmeasurable, match="another user has set the dial"):
            await tuned(world, tmp_path, job())
    assert world.services["llama"]["metadata"]["annotations"].get(DIAL_ANNOTATION) == after
    assert len(world.annotated) == 1


@pytest.mark.parametrize("broken", [("GET", 9), ("PATCH", 1), ("PATCH", 2)])
async def test_an_api_server_that_fails_once_costs_a_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: tuple[str, int]
) -> None:
    """Which is done again."""
    monkeypatch.setattr(shell, "_AFTER_AN_ERROR", 0.0)
    world = StandIn(services={"llama": service()}, broken={broken})
    async with world.running():
        found = await tuned(world, tmp_path, job())
    (why,) = found.redone
    assert "etcd timed out" in why
    assert len(found.repeats) == 6


async def test_a_reset_is_tried_again_and_its_failure_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last line shows what to do then."""
    monkeypatch.setattr(shell, "_AFTER_AN_ERROR", 0.0)
    for lost, reset in ((1, True), (5, False)):
        said, broken = list[str](), {("PATCH", 7 + number) for number in range(lost)}
        world = StandIn(services={"llama": service()}, broken=broken)
        async with world.running():
            found = await tuned(world, tmp_path, job(), said)
        assert len(found.repeats) == 6
        assert (world.annotated[-1] == RESET) is reset
        assert ("specdec dial llama reset" in said[-1]) is not reset


async def test_pods_that_change_between_rounds_end_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers of other pods cannot be compared."""
    names = [frozenset({"llama-0"})] * 3 + [frozenset({"llama-0", "llama-1"})]
    monkeypatch.setattr(shell, "_names", lambda _: names.pop(0))
    world = StandIn(services={"llama": service()})
    async with world.running():
        with pytest.raises(Unmeasurable, match="pause its autoscaler"):
            await tuned(world, tmp_path, job())
    assert (world.annotated[-1], names) == (RESET, [])


async def test_the_round_of_a_request_that_fails_is_done_again(tmp_path: Path) -> None:
    """With the reason in the proof."""
    world = StandIn(services={"llama": service()}, failing={5})
    async with world.running():
        found = await tuned(world, tmp_path, job())
    (why,) = found.redone
    assert why.startswith(f"{found.repeats[0].turn.words}: ")
    assert why.endswith("no endpoints available")


async def test_pods_that_do_not_follow_end_it_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And with the dial reset."""
    monkeypatch.setattr(shell, "_LONGEST", 0.3)
    world = StandIn(services={"llama": service()}, follows=False)
    async with world.running():
        with pytest.raises(Unmeasurable, match="not all pods draft"):
            await tuned(world, tmp_path, job())
    assert world.annotated[-1] == RESET
    assert world.requests == world.requests[:3]


async def test_a_guard_that_takes_speculation_out_ends_it(tmp_path: Path) -> None:
    """The dial is reset all the same."""
    world = StandIn(services={"llama": service()}, taken_out_after=8)
    async with world.running():
        with pytest.raises(Unmeasurable, match="AcceptanceRateLow"):
            await tuned(world, tmp_path, job())
    assert world.annotated[-1] == RESET


@pytest.mark.parametrize("tokens", [(5,), (0, 64)])
async def test_more_tokens_than_the_flags_have_are_refused(tmp_path: Path, tokens: tuple[int, ...]) -> None:
    """Before anything is turned."""
    world = StandIn(services={"llama": service()})
    async with world.running():
        with pytest.raises(Invalid, match="must be numbers up to 4"):
            await tuned(world, tmp_path, job(tokens=tokens))
    assert (world.annotated, world.requests) == ([], [])


async def test_a_dial_that_is_set_by_hand_is_left_alone(tmp_path: Path) -> None:
    """It is a decision of another user."""
    body = service()
    body["metadata"]["annotations"] = {DIAL_ANNOTATION: "off incident 7"}
    world = StandIn(services={"llama": body})
    async with world.running():
        with pytest.raises(Unmeasurable, match=r"its dial is set \(off incident 7\), by hand"):
            await tuned(world, tmp_path, job())
    assert world.annotated == []


async def test_a_cancelled_run_resets_the_dial(tmp_path: Path) -> None:
    """As after Ctrl-C."""
    world = StandIn(services={"llama": service()})
    async with world.running():
        task = asyncio.create_task(tuned(world, tmp_path, job(repeats=50)))
        while len(world.requests) < 10:
            assert not task.done()
            await asyncio.sleep(0.002)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert world.annotated[-1] == RESET
