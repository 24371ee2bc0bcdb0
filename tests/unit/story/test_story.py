"""Today's guard decides the story, from unchanged recordings."""

import asyncio
import functools
import json
import pathlib
from dataclasses import replace
from typing import Any

import pytest
import yaml

from specdec_command.replay.play import play, read_recording
from specdec_command.story.lines import lines, outcome
from specdec_command.story.play import Moment, moments
from specdec_command.story.recording import DATA, StoryRecording, read_story
from specdec_operator.api.guard import Guard
from specdec_operator.api.speculation import Method
from specdec_operator.guard.policy import METHODS

ROOT = pathlib.Path(__file__).parents[3]
TRACES = ROOT / "tests" / "data" / "traces"
DRIFT = "03-code-then-drift"


@functools.cache
def story() -> StoryRecording:
    return read_story()


@functools.cache
def told() -> tuple[Moment, ...]:
    return tuple(asyncio.run(moments(story())))


def guarded(**guard: Any) -> StoryRecording:
    service = json.loads(json.dumps(story().service))
    service["spec"]["guard"] |= guard
    return replace(story(), service=service)


def phases(seen: tuple[Moment, ...] | list[Moment]) -> list[str]:
    return [each.phase for at, each in enumerate(seen) if at == 0 or seen[at - 1].phase != each.phase]


def verdicts(seen: tuple[Moment, ...]) -> dict[str, str]:
    guards = [each.service["status"].get("guard", {}) for each in seen]
    return {each["message"]: each["verdict"] for each in guards if "verdict" in each}


@pytest.mark.parametrize("file", sorted(DATA.glob("*.gz")), ids=lambda each: str(each.stem))
def test_a_recording_is_as_it_was_made(file: pathlib.Path) -> None:
    """Byte for byte what the tests of the guard play."""
    assert file.read_bytes() == (TRACES / file.name).read_bytes()


def test_the_clients_numbers_are_the_recordings_own() -> None:
    """With the draft and without it, measured in turn."""
    paired = set()
    for file in DATA.glob("*.gz"):
        about = yaml.safe_load((TRACES / file.name.replace(".jsonl.gz", ".yaml")).read_text())
        found = (each.get("without_speculation") for each in about["phases"])
        paired |= {(each["with_speculation_right_after_tokens_per_s"], each["tokens_per_s"]) for each in found if each}
    told = {(each.clients.speculating, each.clients.plain) for each in story().chapters if each.clients}
    assert len(told) == 3
    assert told <= paired


def test_the_traffic_changes_where_it_did() -> None:
    """At the second at which the recording's clients began to ask for something else."""
    about = yaml.safe_load((TRACES / f"{DRIFT}.yaml").read_text())
    before = next(each for each in story().chapters if each.to)
    assert before.to == about["phases"][0]["end_s"]


def test_a_pod_starts_as_fast_as_in_the_run_of_the_demo() -> None:
    """A speculating pod until it is watched, less its warm-up; a baseline pod from the decision on.

    After another run of `make demo`: its numbers, its day and its commit belong into story.yaml.
    """
    run = json.loads((ROOT / "docs" / "demo" / "demo.json").read_text())
    starts, source = story().starts, story().sources[1]
    up = run["steps"]["the same with speculation comes up"] - float(run["windows"]["warmup"].removesuffix("s"))
    assert starts == {"speculating": pytest.approx(up), "plain": run["serving_again_seconds"]}
    machine = run["machine"]
    assert source.when == run["decision"]["at"][:10]
    assert (
        f"{machine['cores']} cores, {machine['memory_gib']} GiB, {machine['cpu']}, KServe {run['kserve']}"
        in source.where
    )


def test_the_phases_of_the_story() -> None:
    up, back = ["RollingOut", "WarmingUp", "Watching"], ["Responding", "RolledBack"]
    assert phases(told()) == [*up, *back, *up]


def test_the_verdicts_are_those_of_replay() -> None:
    """`specdec replay` judges the same windows of the same file, and takes speculation out for the same reason."""
    guard = Guard.model_validate(story().service["spec"]["guard"])
    played = play(read_recording(TRACES / f"{DRIFT}.jsonl.gz"), guard, METHODS[Method.DRAFT_MODEL])
    replayed = {each.judged.verdict.message: each.judged.verdict.outcome.value for each in played.decisions}
    until = next(at for at, each in enumerate(told()) if each.phase == "Responding")
    shown = verdicts(told()[: until + 1])
    assert len(shown) >= 3
    assert shown.items() <= replayed.items()
    decided = told()[until].service["status"]["guard"]["rollback"]
    last = played.decisions[-1].judged.verdict
    assert (decided["reason"], decided["message"]) == (last.reason.value, last.message)


def test_the_decision_comes_within_the_promised_windows() -> None:
    """At most one window more than have to fail, from the change of the traffic on."""
    guard = Guard.model_validate(story().service["spec"]["guard"])
    decided = next(each for each in told() if each.phase == "Responding")
    changed = next(each for each in told() if each.chapter is decided.chapter)
    assert decided.at - changed.at <= (guard.failure_limit + 1) * guard.window


def test_another_guard_decides_otherwise() -> None:
    """One failing window more takes a window longer."""
    patient = asyncio.run(moments(guarded(failureLimit=3)))
    first, later = (next(each.at for each in seen if each.phase == "Responding") for seen in (told(), patient))
    assert later - first == pytest.approx(10.0, abs=0.5)


def test_a_guard_that_observes_takes_nothing_out() -> None:
    """Then the chapter of the rollback does not come to its end."""
    with pytest.raises(RuntimeError, match="The traffic changes: phase Watching after 300 s"):
        asyncio.run(moments(guarded(mode="Observe")))


def test_the_flag_goes_and_comes_back() -> None:
    """What the InferenceService asks the engine for; it is never changed before the decision is in the status."""
    flags = [bool(each.flag) for each in told()]
    assert [flags[0], flags[-1]] == [True, True]
    assert {each.phase for each in told() if not each.flag} == {"Responding", "RolledBack"}


def test_the_second_try_is_compared_with_the_baseline_of_the_first_rollback() -> None:
    """The guard learnt it while the baseline served; the clients saw about the same."""
    performance = told()[-1].service["status"]["performance"]
    clients = story().chapters[-1].clients
    assert clients is not None
    assert performance["speedup"] == pytest.approx(clients.speedup, rel=0.15)
    assert performance["speedupLow"] > 1.5


@pytest.mark.parametrize(("chapter", "phase", "spread"), [(1, 0, 0.1), (2, 1, 0.35)])
def test_the_loads_are_those_of_the_recording(chapter: int, phase: int, spread: float) -> None:
    about = yaml.safe_load((TRACES / f"{DRIFT}.yaml").read_text())["phases"][phase]
    seen = [each.load.tokens_per_second for each in told() if each.chapter is story().chapters[chapter]]
    known = [each for each in seen if each is not None]
    assert sum(known) / len(known) == pytest.approx(about["client"]["tokens_per_s"], rel=spread)


def test_each_line_is_news() -> None:
    """Nothing is shown twice in a row, and every decision is shown."""
    before, shown = None, []
    for each in told():
        shown += [*lines(before, each)]
        before = each
    heads = [each.head for each in shown]
    assert heads.count("Fail") == 2
    assert [each.text for each in shown if each.head == "InferenceService"][1] == "without --speculative-config"
    assert len({(each.at, each.head, each.text) for each in shown}) == len(shown)
    assert outcome(told()) == ("Decided 20 s after the traffic changed; the baseline served 26 s after the decision.")
