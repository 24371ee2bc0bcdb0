"""`specdec measure` over HTTP, against the stand-in: what is asked of whom, what is put back, and when it gives up."""

import asyncio
from pathlib import Path

import pytest
from tests.unit.measure.standin import NAMESPACE, StandIn, service, status

from specdec_command.measure.baseline import MEASURED_ANNOTATION
from specdec_command.measure.benchmark import BenchmarkOrder, Job, Side, Unmeasurable
from specdec_command.measure.compare import Measurement
from specdec_command.measure.prompts import Prompt, digest, parse
from specdec_command.measure.requests import GREEDY, SEED, Sampling, arrivals
from specdec_command.measure.run import run
from specdec_operator.names import RETRY_ANNOTATION, ROLLBACK_ANNOTATION

PROMPTS = parse('{"prompt": "a"}\n{"prompt": "b"}\n{"messages": [{"role": "user", "content": "c"}]}\n', "three.jsonl")
LEFT_BEHIND = {
    "metadata": {
        "name": "llama-plain",
        "namespace": NAMESPACE,
        "generation": 1,
        "annotations": {MEASURED_ANNOTATION: "llama"},
    },
    "spec": {"model": {"uri": "hf://old"}},
}


def job(
    *,
    concurrencies: tuple[int, ...] = (1,),
    in_place: bool = False,
    room: float = 60.0,
    prompts: tuple[Prompt, ...] = PROMPTS,
    rates: tuple[float, ...] = (),
    sampling: Sampling = GREEDY,
) -> Job:
    order = BenchmarkOrder(
        source="three.jsonl",
        prompts=len(prompts),
        digest=digest(prompts),
        concurrencies=concurrencies,
        repeats=2,
        max_tokens=8,
        in_place=in_place,
        rates=rates,
        sampling=sampling,
    )
    return Job(namespace=None, name="llama", order=order, prompts=prompts, at="2026-01-01", room=room)


async def measured(world: StandIn, folder: Path, wanted: Job, said: list[str] | None = None) -> Measurement:
    return await run(wanted, world.kubeconfig(folder), (said if said is not None else []).append)


async def after(world: StandIn, task: "asyncio.Task[Measurement]", *, requests: int, annotations: int = 0) -> None:
    """Waits until the stand-in has seen so much, while the run goes on."""
    while len(world.requests) < requests or len(world.annotated) < annotations:
        assert not task.done()
        await asyncio.sleep(0.002)


async def test_both_sides_are_asked_the_same_in_the_same_order(tmp_path: Path) -> None:
    """Three warm-ups a side; then speculating, plain, plain, speculating. Only the prompts of the requests differ."""
    world = StandIn(services={"llama": service()})
    async with world.running():
        found = await measured(world, tmp_path, job())
    names = [name for name, _ in world.requests]
    assert names == ["llama"] * 6 + ["llama-plain"] * 9 + ["llama"] * 3
    asked = [body.get("prompt") or body["messages"][0]["content"] for _, body in world.requests]
    assert asked == ["a", "b", "c"] * 6
    alike = [
        {key: value for key, value in body.items() if key not in {"prompt", "messages"}} for _, body in world.requests
    ]
    assert all(each == alike[0] for each in alike)
    assert (alike[0]["model"], alike[0]["temperature"], alike[0]["seed"], alike[0]["ignore_eos"]) == (
        "llama",
        0,
        0,
        False,
    )
    order = [each.turn.side for each in found.repeats]
    assert order == [Side.SPECULATING, Side.BASELINE, Side.BASELINE, Side.SPECULATING]
    assert ([*world.services], world.annotated) == (["llama"], []), "the twin is gone, and the service untouched"


async def test_what_is_measured_is_what_the_engine_did(tmp_path: Path) -> None:
    """Tokens by usage, acceptance by the counters, times of the stream, equal answers; the twin has no speculation."""
    world = StandIn(services={"llama": service()})
    async with world.running():
        found = await measured(world, tmp_path, job(concurrencies=(1, 3)))
    level = found.levels[0]
    assert [each.concurrency for each in found.levels] == [1, 3]
    assert level.speculating.acceptance is not None
    assert level.speculating.acceptance.median == 0.75
    assert level.plain.acceptance is None
    assert (level.equal.same, level.equal.of) == (6, 6)
    repeat = found.repeats[0]
    assert (repeat.tokens, repeat.answers[0].prompt_tokens, repeat.answers[0].text) == (24, 3, "word " * 8)
    assert level.per_token is not None
    assert level.per_token.median > 1.2
    assert 0.002 <= repeat.first_token < repeat.seconds
    assert found.context.other_differences == ()
    assert found.context.plain.command == ("python3", "-m", "vllm", "--model=/mnt/target/model")


async def test_requests_that_arrive_at_a_rate_are_sent_before_others_are_answered(tmp_path: Path) -> None:
    """Both sides get them at the same random times; a repeat takes as long as its arrivals."""
    world = StandIn(services={"llama": service()})
    async with world.running():
        found = await measured(world, tmp_path, job(concurrencies=(), rates=(20.0,)))
    assert [(each.concurrency, each.load.rate) for each in found.levels] == [(None, 20.0)]
    assert len(world.requests) == 2 * (3 + 2 * 3)
    for each in found.repeats:
        assert each.seconds >= arrivals(3, 20.0, SEED + each.turn.repeat)[-1]
        assert [answer.text for answer in each.answers] == ["word " * 8] * 3


@pytest.mark.parametrize(
    ("sampling", "sent"),
    [
        (GREEDY, {"temperature": 0, "seed": 0}),
        (Sampling(greedy=False), {}),
        (Sampling(greedy=False, temperature=0.7, top_p=0.9), {"temperature": 0.7, "top_p": 0.9}),
    ],
)
async def test_sampling_is_that_of_the_order(tmp_path: Path, sampling: Sampling, sent: dict[str, float]) -> None:
    """What is not given is not sent, so that the engine's own default holds."""
    world = StandIn(services={"llama": service()})
    async with world.running():
        await measured(world, tmp_path, job(sampling=sampling))
    for _, body in world.requests:
        assert {key: body[key] for key in ("temperature", "top_p", "seed") if key in body} == sent


async def test_a_twin_that_was_left_behind_is_replaced(tmp_path: Path) -> None:
    """The run knows it by its annotation, deletes it first, and creates it again from the present spec."""
    world = StandIn(services={"llama": service(), "llama-plain": LEFT_BEHIND})
    async with world.running():
        await measured(world, tmp_path, job())
    assert world.deleted == ["llama-plain", "llama-plain"]


async def test_a_service_of_another_owner_is_not_changed(tmp_path: Path) -> None:
    """A service that has the twin's name and not its annotation ends the run, and stays."""
    stranger = service("llama-plain")
    world = StandIn(services={"llama": service(), "llama-plain": stranger})
    async with world.running():
        with pytest.raises(Unmeasurable, match=r"no measurement of llama created it.*--in-place"):
            await measured(world, tmp_path, job())
    assert world.services["llama-plain"] is stranger
    assert world.deleted == []


async def test_a_twin_without_room_ends_with_the_way_out(tmp_path: Path) -> None:
    """After the time for room the error names --in-place; the twin is removed."""
    world = StandIn(services={"llama": service()}, no_room=True)
    async with world.running():
        with pytest.raises(Unmeasurable, match=r"no room.*Insufficient gpu.*--in-place"):
            await measured(world, tmp_path, job(room=0.5))
    assert [*world.services] == ["llama"]


async def test_in_place_speculates_first_then_serves_the_baseline_and_is_put_back(tmp_path: Path) -> None:
    """Speculating repeats, a rollback by annotation, plain repeats, a retry with the same nonce."""
    world = StandIn(services={"llama": service()})
    async with world.running():
        found = await measured(world, tmp_path, job(in_place=True))
    assert {name for name, _ in world.requests} == {"llama"}
    assert [each.turn.side for each in found.repeats] == [Side.SPECULATING] * 2 + [Side.BASELINE] * 2
    assert found.levels[0].plain.acceptance is None
    (first, nonce), (second, again) = (next(iter(each.items())) for each in world.annotated)
    assert (first, second) == (ROLLBACK_ANNOTATION, RETRY_ANNOTATION)
    assert nonce == again
    assert world.services["llama"]["status"]["serving"]["speculating"] is True


async def test_a_stopped_run_in_place_asks_for_speculation_again(tmp_path: Path) -> None:
    """Stopped in the plain half, the service speculates again."""
    world = StandIn(services={"llama": service()})
    async with world.running():
        task = asyncio.create_task(measured(world, tmp_path, job(in_place=True)))
        await after(world, task, requests=11, annotations=1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert world.services["llama"]["status"]["serving"]["speculating"] is True


async def test_a_failed_request_costs_its_repeat_and_is_reported(tmp_path: Path) -> None:
    """The whole repeat is done again, so that no figure has a gap."""
    world = StandIn(services={"llama": service()}, failing={5})
    async with world.running():
        found = await measured(world, tmp_path, job())
    (why,) = found.redone
    assert "repeat 1 of the speculating side with 1 at once" in why
    assert "503: no endpoints available" in why
    assert all(len(each.answers) == 3 for each in found.repeats)


async def test_requests_that_always_fail_end_the_run(tmp_path: Path) -> None:
    """With the server's message, and the twin removed."""
    world = StandIn(services={"llama": service()}, failing=range(10**6))
    async with world.running():
        with pytest.raises(Unmeasurable, match="HTTP 503: no endpoints available"):
            await measured(world, tmp_path, job())
    assert [*world.services] == ["llama"]


async def test_a_guard_that_acts_meanwhile_ends_the_run_with_its_message(tmp_path: Path) -> None:
    """A service that no longer speculates cannot be measured as if it did."""
    world = StandIn(services={"llama": service()}, taken_out_after=6)
    async with world.running():
        with pytest.raises(
            Unmeasurable, match=r"llama changed during the measurement: Responding: AcceptanceRateLow: 0.10"
        ):
            await measured(world, tmp_path, job())
    assert "llama-plain" not in world.services


@pytest.mark.parametrize(
    ("service", "words"),
    [
        (None, "namespace team-a has no service llama"),
        (service(speculation=None), "requests no speculation"),
        (service() | {"status": status("RolledBack", speculating=False, reason="NotDrafting")}, "NotDrafting"),
        (service() | {"status": status("Stalled", speculating=True, reason="CrashLoop")}, "CrashLoop"),
    ],
)
async def test_what_cannot_be_compared_is_refused_before_anything_is_made(
    tmp_path: Path, service: dict[str, object] | None, words: str
) -> None:
    """No service, no speculation, or speculation that is out already."""
    world = StandIn(services={"llama": service} if service else {})
    async with world.running():
        with pytest.raises(Unmeasurable, match=words):
            await measured(world, tmp_path, job())
    assert "llama-plain" not in world.services
    assert world.requests == []


async def test_nodes_that_may_not_be_read_cause_no_error(tmp_path: Path) -> None:
    """A user of a namespace rarely has the permission. The report shows that the hardware is unknown."""
    world = StandIn(services={"llama": service()}, nodes=False)
    async with world.running():
        found = await measured(world, tmp_path, job())
    assert [each.readable for each in found.context.plain.nodes] == [False]
