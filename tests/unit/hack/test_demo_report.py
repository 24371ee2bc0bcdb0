"""What the demo reads, shows and writes: the samples, the screen, and the report of a made-up run checked by hand."""

import dataclasses
import io
import json
import pathlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import yaml
from hack.cluster.errors import ClusterError
from hack.demo import report, screen, story
from hack.demo.observed import Moments
from hack.demo.report import Act, Recording
from hack.demo.screen import Screen
from hack.demo.traffic import Completion, Failure, Reading, Span
from hack.machine import Machine
from hack.pages import demo
from rich.console import Console

from specdec_engine.accelerators import Accelerator

ONSET = 100.0
SERVICE = {
    "phase": "Watching",
    "traffic": "code",
    "tokens/s": "900 ▁▅█",
    "requests": "12 answered, 1 failed",
    "last event": "-",
}


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
        spec=story.spec(story.SPECULATIVE),
        kserve="0.20.0",
        machine=Machine(cores=2, memory_gib=16.0, cpu="a processor"),
        origin={"commit": "1234567"},
        completions=[answer for act, span in spans.items() for answer in _answers(span.begin, span.end, speeds[act])],
        failures=[Failure(at=131.26, why="HTTP 503: no endpoints")],
        readings=[
            Reading(at=81, pod="p", drafted=0, accepted=0),
            Reading(at=94, pod="p", drafted=1000, accepted=730),
            Reading(at=101, pod="p", drafted=2000, accepted=1460),
            Reading(at=111, pod="p", drafted=3000, accepted=1460),
        ],
        spans=spans,
        in_status={Act.CODE: 0.74, Act.DRIFT: 0.0},
        minimum=0.4,
        moments=Moments(onset=ONSET, decided=ONSET + 12, patched=ONSET + 12.125, serving=131.25, rolled_back=132.0),
        rollback={"reason": "AcceptanceRateLow", "message": "acceptance 0.00 < 0.40", "at": "2026-01-01T00:00:00Z"},
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
    assert found["kserve"] == "0.20.0"
    assert found["steps"] == {"tiny models": 0.2, "together": 160.0}
    assert found["machine"] == {"cores": 2, "memory_gib": 16.0, "cpu": "a processor"}


def test_failed_requests_are_reported_with_their_time_and_their_error(run: Recording) -> None:
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
    moments = run.moments._replace(decided=ONSET + decided, patched=ONSET + patched)
    assert [each["kept"] for each in report.promises(dataclasses.replace(run, moments=moments))] == kept


def test_the_picture_counts_from_the_change_of_traffic(run: Recording) -> None:
    """From the first measured second with speculation to the last one after it, with honest zeros in between."""
    upper, lower = report.draw(run).axes
    assert lower.get_xlim() == (-20, 55)
    accepted, minimum, *moments = upper.lines
    assert accepted.get_xydata() == pytest.approx(np.array([(-6, 0.73), (1, 0.73), (11, 0.0)]))
    assert list(minimum.get_ydata()) == [0.4, 0.4]
    assert [each.get_xdata()[0] for each in moments] == [0, 12, 31.25]
    words = {each.get_text() for each in upper.texts}
    assert words >= {"the traffic drifts", "decision: AcceptanceRateLow, 12.0 s", "a plain pod serves, 31.2 s"}
    by_second = dict(lower.lines[0].get_xydata())
    assert (by_second[-19.5], by_second[5.5], by_second[20.5]) == (pytest.approx(900), pytest.approx(240), 0)
    assert [each.get_segments()[0].tolist() for each in lower.collections] == [
        [[-20, 600], [0, 600]],
        [[0, 600], [55, 600]],
    ]


def test_what_is_written_is_the_same_for_an_equal_run(run: Recording, tmp_path: pathlib.Path) -> None:
    """No date and no random names in it, so that Git shows a change only where there is one."""
    found = report.assemble(run)
    written = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        folder.mkdir()
        written.append(report.write(run, found, folder))
    assert [each.name for each in written[0]] == ["demo.json", "demo.svg", "demo.png"]
    for one, two in zip(*written, strict=True):
        assert one.read_bytes() == two.read_bytes()
    assert json.loads(written[0][0].read_text(encoding="utf-8")) == found
    assert "decision: AcceptanceRateLow" in written[0][1].read_text(encoding="utf-8")


def test_the_table_shows_the_numbers_and_a_broken_promise(run: Recording) -> None:
    """What a person reads last; a promise that was not kept is not dressed up."""
    found: dict[str, Any] = report.assemble(run)
    found["promises"][0]["kept"] = False
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(report.render(found))
    text = console.export_text()
    for words in ("1.50x", "0.40x", "2.25x of before", "72 answered, 1 failed", "NOT KEPT", "KServe 0.20.0"):
        assert words in text


def test_the_readme_and_the_page_show_the_recorded_run_and_no_request_of_it_failed() -> None:
    """docs/demo/demo.json, README.md and docs/demo.md are of one run."""
    root = pathlib.Path(__file__).parents[3]
    found = json.loads((root / "docs" / "demo" / "demo.json").read_text(encoding="utf-8"))
    front, page = ((root / name).read_text(encoding="utf-8") for name in ("README.md", "docs/demo.md"))
    assert (demo.readme(front), demo.page(page)) == (front, page)
    console = Console(width=110, record=True, file=io.StringIO())
    console.print(report.render(found))
    assert "\n".join(line.rstrip() for line in console.export_text().splitlines()) in page
    words = " ".join(front.split())
    assert f"{found['code']['speedup']} times as fast with its draft" in words
    assert f"at {found['drift']['speedup']} of the baseline speed" in words
    assert f"{found['decision']['seconds_from_onset']} s after the change the operator decides" in words
    assert f"{found['serving_again_seconds']:.0f} s after that a baseline pod serves" in words
    assert f"No request of {found['requests']['ok']} failed" in words
    assert found["requests"]["failed"] == 0


def test_a_run_with_failed_requests_shows_them(tmp_path: pathlib.Path) -> None:
    """The numbers are those of the file, also where they are bad."""
    root = pathlib.Path(__file__).parents[3]
    found = json.loads((root / "docs" / "demo" / "demo.json").read_text(encoding="utf-8"))
    found["code"]["speedup"], found["requests"] = 0.97, found["requests"] | {"ok": 97, "failed": 3}
    run = tmp_path / "demo.json"
    run.write_text(json.dumps(found))
    front = " ".join(demo.readme((root / "README.md").read_text(encoding="utf-8"), run).split())
    assert "a tiny model, 0.97 times as fast with its draft" in front
    assert "3 of 100 requests failed" in front
    page = demo.page((root / "docs" / "demo.md").read_text(encoding="utf-8"), run)
    assert "97 answered, 3 failed" in page
    assert "0.97x" in page


def test_the_samples_differ_in_speculation_alone() -> None:
    """Else the demo would compare two things at once."""
    plain, speculative = (yaml.safe_load(file.read_text(encoding="utf-8")) for file in (story.PLAIN, story.SPECULATIVE))
    assert speculative["spec"].pop("speculation")["tokens"] == 4
    assert plain == speculative
    assert plain["metadata"] == {"namespace": story.NAMESPACE, "name": story.NAME}


def test_the_samples_run_on_a_processor_with_windows_of_seconds() -> None:
    """The README states this about the demo: no accelerator, and a decision within seconds."""
    sample = story.spec(story.SPECULATIVE)
    assert sample.engine.accelerator is Accelerator.CPU
    assert report.decision_bound(sample) == (sample.guard.failure_limit + 1) * sample.guard.window
    assert report.decision_bound(sample) <= 30


def test_two_pods_of_the_samples_fit_on_two_cores_beside_a_kind_control_plane() -> None:
    """A surge needs room for both; kind's own pods ask for 950m, KServe and the operator for 150m."""
    cpu = story.spec(story.SPECULATIVE).resources
    assert cpu is not None
    assert 2 * int(cpu["requests"]["cpu"].removesuffix("m")) + 950 + 150 <= 2000


def _screen(*, terminal: bool = False, clock: Callable[[], float] = time.monotonic) -> tuple[Screen, io.StringIO]:
    out = io.StringIO()
    return Screen(Console(file=out, width=100, force_terminal=terminal, force_interactive=terminal), clock), out


def test_steps_that_overlap_are_each_timed_and_so_is_everything_together() -> None:
    """From nothing, the cluster is built while the images are."""
    now = 100.0
    view, _ = _screen(clock=lambda: now)
    with view.step("cluster"):
        now = 101
        with view.step("images"):
            now = 125
        now = 130
    now = 140
    assert view.seconds() == {"cluster": 30, "images": 24, "together": 40}


def test_plain_lines_show_the_notes_of_a_step_and_how_long_it_took() -> None:
    """In a pipe nothing is drawn over: each line stays."""
    view, out = _screen()
    with view, view.step("tiny models") as note:
        note("step [50] of 100")
    lines = out.getvalue().splitlines()
    assert lines[:2] == ["… tiny models", "    tiny models: step [50] of 100"]
    assert lines[2].startswith("✓ tiny models")
    assert len(lines) == 3


def test_a_step_that_fails_is_marked_and_its_error_goes_on() -> None:
    """The error itself is printed once, at the end."""
    view, out = _screen()
    with pytest.raises(ValueError, match="no"), view, view.step("images"):
        raise ValueError("no")
    assert "✗ images" in out.getvalue()


def test_traffic_is_a_line_now_and_then_and_not_at_each_look() -> None:
    """The story looks four times a second; a log wants less."""
    view, out = _screen()
    for _ in range(5):
        view.show(SERVICE)
    assert out.getvalue().splitlines() == [
        "    phase Watching · traffic code · tokens/s 900 ▁▅█ · requests 12 answered, 1 failed · last event -"
    ]


def test_the_live_view_draws_steps_and_the_service_while_there_is_traffic() -> None:
    """Running steps show their last note; the service its phase, speed, requests and last Event."""
    view, out = _screen(terminal=True)
    with view, view.step("speculation measured") as note:
        note("first [window]")
        view.show(SERVICE)
        view.refresh()
        drawn = out.getvalue()
        assert all(words in drawn for words in ("speculation measured", "first [window]", *SERVICE.values()))
        out.truncate(0)
    last = out.getvalue()
    assert "speculation measured" in last
    assert "first [window]" not in last.splitlines()[-1]
    assert "Watching" not in last[last.rindex("✓") :]


def test_the_course_of_speeds_is_a_row_of_bars() -> None:
    """From zero to the highest; without any speed there is no row."""
    assert screen.sparkline((0.0, 450.0, 900.0)) == "▁▅█"
    assert screen.sparkline((0.0, 0.0)) == ""
    assert screen.sparkline(()) == ""


async def test_a_program_that_fails_is_reported_with_its_output() -> None:
    """Its output is shown as it comes, and the end of it is the error."""
    view, out = _screen()
    with pytest.raises(ClusterError, match=r"(?s)`python -m json.tool --bad` failed: .*unrecognized arguments: --bad$"):
        await view.program("a wrong one", "json.tool", "--bad")
    assert "    a wrong one: usage: " in out.getvalue()
    assert "✗ a wrong one" in out.getvalue()


def test_a_failure_is_what_follows_the_last_error_line_or_else_the_last_lines() -> None:
    """A program that crashed prints something, and the demo passes it on."""
    assert screen.failure([str(number) for number in range(9)]) == "4\n5\n6\n7\n8"
    assert screen.failure([]) == "it printed nothing"
    assert screen.failure(["error: old", "more", "error: new", "its second line"]) == "new\nits second line"
