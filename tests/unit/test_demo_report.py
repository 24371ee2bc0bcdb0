"""The report of a made-up run whose numbers can be checked by hand, and the picture of it."""

import dataclasses
import io
import pathlib
from typing import Any

import pytest
from hack.demo import picture, plot, report, samples, table
from hack.demo.counters import Reading
from hack.demo.machine import Machine
from hack.demo.moments import Moments
from hack.demo.recording import Act, Decision, Recording
from hack.demo.speed import Completion, Failure, Span
from rich.console import Console

ONSET = 100.0


def _answers(begin: float, end: float, tokens_per_second: int) -> list[Completion]:
    """Answers of a second each."""
    return [
        Completion(began=at, ended=at + 1, tokens=tokens_per_second)
        for at in (begin + step for step in range(int(end - begin)))
    ]


@pytest.fixture
def run() -> Recording:
    """600 tokens/s plain; 900 with speculation on code, 240 on drift; 540 after the rollback."""
    spans = {
        Act.PLAIN_CODE: Span(begin=0, end=15),
        Act.PLAIN_DRIFT: Span(begin=20, end=35),
        Act.CODE: Span(begin=80, end=95),
        Act.DRIFT: Span(begin=ONSET, end=ONSET + 12),
        Act.AFTER: Span(begin=140, end=155),
    }
    speeds = {Act.PLAIN_CODE: 600, Act.PLAIN_DRIFT: 600, Act.CODE: 900, Act.DRIFT: 240, Act.AFTER: 540}
    return Recording(
        sample=samples.read(samples.SPECULATIVE),
        clients=1,
        max_tokens=96,
        kserve="stand-in",
        machine=Machine(cores=2, memory_gib=16.0, cpu="a processor"),
        completions=tuple(
            answer for act, span in spans.items() for answer in _answers(span.begin, span.end, speeds[act])
        ),
        failures=(Failure(at=131.26, why="HTTP 503: no endpoints"),),
        readings=(
            Reading(at=81, pod="p", drafted=0, accepted=0),
            Reading(at=94, pod="p", drafted=1000, accepted=730),
            Reading(at=101, pod="p", drafted=2000, accepted=1460),
            Reading(at=111, pod="p", drafted=3000, accepted=1460),
        ),
        spans=spans,
        told={Act.CODE: 0.74, Act.DRIFT: 0.0},
        minimum=0.4,
        moments=Moments(onset=ONSET, decided=ONSET + 12, patched=ONSET + 12.125, serving=131.25, rolled_back=132.0),
        decision=Decision(reason="AcceptanceRateLow", message="acceptance 0.00 < 0.40", at="2026-01-01T00:00:00Z"),
        steps={"tiny models": 0.2, "together": 160.0},
    )


def test_every_number_of_the_report_follows_from_what_was_measured(run: Recording) -> None:
    """The keys that others read, with values worked out by hand."""
    found = report.assemble(run)
    assert found["plain"]["tokens_per_second"] == 600
    assert found["plain"]["drift_tokens_per_second"] == 600
    assert found["code"] == {
        "acceptance": 0.73,
        "acceptance_in_status": 0.74,
        "tokens_per_second": 900,
        "spread": [900, 900],
        "speedup": 1.5,
    }
    assert (found["drift"]["acceptance"], found["drift"]["speedup"]) == (0.0, 0.4)
    assert found["decision"]["seconds_from_onset"] == 12
    assert found["decision"]["seconds_to_patch"] == pytest.approx(0.12)
    assert found["decision"]["reason"] == "AcceptanceRateLow"
    assert found["serving_again_seconds"] == pytest.approx(19.2)
    assert (found["after"]["speedup"], found["after"]["speedup_over_drift"]) == (0.9, 2.25)
    assert found["kserve"] == "stand-in"
    assert found["steps"] == {"tiny models": 0.2, "together": 160.0}
    assert found["machine"] == {"cores": 2, "memory_gib": 16.0, "cpu": "a processor"}


def test_failed_requests_are_reported_with_their_time_and_their_words(run: Recording) -> None:
    """Nothing is hidden: a request that failed during the rollback is in the file."""
    found = report.assemble(run)["requests"]
    assert (found["ok"], found["failed"]) == (72, 1)
    assert found["failures"] == [{"seconds_from_onset": 31.3, "why": "HTTP 503: no endpoints"}]


def test_the_windows_are_reported_as_the_sample_writes_them(run: Recording) -> None:
    """Durations with their units, as in the sis."""
    found = report.assemble(run)["windows"]
    assert (found["interval"], found["window"], found["strategy"]) == ("1s", "5s", "Surge")


@pytest.mark.parametrize(("decided", "patched", "kept"), [(15.0, 17.0, [True, True]), (15.1, 17.2, [False, False])])
def test_a_promise_is_kept_up_to_its_limit_and_no_further(
    run: Recording, decided: float, patched: float, kept: list[bool]
) -> None:
    """(failureLimit + 1) windows of 5 s to the decision; 2 s from there to the patch."""
    moments = dataclasses.replace(run.moments, decided=ONSET + decided, patched=ONSET + patched)
    assert [each.kept for each in report.promises(dataclasses.replace(run, moments=moments))] == kept


def test_the_picture_counts_from_the_change_of_traffic(run: Recording) -> None:
    """From the first measured second with speculation to the last one after it, with honest zeros in between."""
    drawn = picture.compose(run)
    assert (drawn.begin, drawn.end) == (-20, 55)
    assert [mark.at for mark in drawn.marks] == [0, 12, 31.25]
    assert drawn.acceptance == ((-6, pytest.approx(0.73)), (1, pytest.approx(0.73)), (11, 0.0))
    by_second = dict(drawn.speeds)
    assert by_second[-19.5] == pytest.approx(900)
    assert by_second[5.5] == pytest.approx(240)
    assert by_second[20.5] == 0
    assert (drawn.plain_code, drawn.plain_drift, drawn.minimum) == (600, 600, 0.4)


def test_an_equal_picture_is_an_equal_file(run: Recording, tmp_path: pathlib.Path) -> None:
    """No date and no random names in it, so that Git shows a change only where there is one."""
    files = [tmp_path / name for name in ("one.svg", "two.svg")]
    for file in files:
        plot.draw(picture.compose(run), file)
    assert files[0].read_bytes() == files[1].read_bytes()
    assert "decision: AcceptanceRateLow" in files[0].read_text(encoding="utf-8")


def test_the_table_shows_the_numbers_and_a_broken_promise(run: Recording) -> None:
    """What a person reads last; a promise that was not kept is not dressed up."""
    found: dict[str, Any] = report.assemble(run)
    found["promises"][0]["kept"] = False
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(table.render(found))
    text = console.export_text()
    for words in ("1.50x", "0.40x", "2.25x of before", "72 answered, 1 failed", "NOT KEPT", "KServe: stand-in"):
        assert words in text
