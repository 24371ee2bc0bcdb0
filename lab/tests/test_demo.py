"""What `make demo` computes and writes, of a made-up run checked by hand, and what its samples have to be."""

import dataclasses
import json
import pathlib
from typing import Any

import numpy as np
import pytest
from tests.node import demo as story

from lab import demo
from lab.demo import DemoAnswer, KServeRun, Moments, Reading, Span
from specdec_engine.accelerators import Accelerator
from specdec_operator.api.spec import Spec

ROOT = pathlib.Path(__file__).parents[2]
ONSET = 100.0
SPEC = story.sample(story.SPECULATIVE)["spec"]
PAGE = """\
# TYPE vllm:spec_decode_num_draft_tokens counter
vllm:spec_decode_num_draft_tokens_total{engine="0",model_name="tiny"} 400.0
vllm:spec_decode_num_accepted_tokens_total{engine="0",model_name="tiny"} 292.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="tiny",position="0"} 90.0
"""


ACTS = {
    "plain_code": (Span(0, 15), 600),
    "plain_drift": (Span(20, 35), 600),
    "code": (Span(80, 95), 900),
    "drift": (Span(ONSET, ONSET + 12), 240),
    "dialled": (Span(113, 123), 570),
    "again": (Span(180, 190), 840),
    "after": (Span(340, 355), 540),
}
"""When each act is measured, and its tokens/s, in answers of a second."""
READINGS = [
    Reading(at=81, pod="p", drafted=0, accepted=0),
    Reading(at=94, pod="p", drafted=1000, accepted=730),
    Reading(at=101, pod="p", drafted=2000, accepted=1460),
    Reading(at=111, pod="p", drafted=3000, accepted=1460),
]
MOMENTS = Moments(
    onset=ONSET,
    decided=ONSET + 12,
    dialled=ONSET + 12.75,
    recovered=125.0,
    up=180.0,
    second=195.0,
    dialled_again=207.0,
    given_up=327.5,
    patched=327.625,
    serving=346.75,
    rolled_back=348.0,
)


@pytest.fixture
def run() -> KServeRun:
    """600 tokens/s plain; 900 with speculation on code, 240 on drift; 540 afterwards."""
    return KServeRun(
        guard=SPEC["guard"],
        strategy="Surge",
        kserve="0.20.0",
        answers=[
            DemoAnswer(at, at + 1, each) for span, each in ACTS.values() for at in range(int(span.begin), int(span.end))
        ],
        failures=[(331.26, "Refused: no endpoints")],
        readings=list(READINGS),
        spans={name: span for name, (span, _) in ACTS.items()},
        in_status={"code": 0.74, "drift": 0.0},
        minimum=0.4,
        moments=MOMENTS,
        decision={"reason": "AcceptanceRateLow", "message": "acceptance 0.00 < 0.40", "at": "2026-01-01T00:00:00Z"},
        steps={"plain service comes up": 22.1},
    )


def test_every_number_of_the_report_follows_from_what_was_measured(run: KServeRun) -> None:
    """The keys that others read, with values worked out by hand."""
    found = demo.report(run)
    assert (found["plain"]["tokens_per_second"], found["plain"]["drift_tokens_per_second"]) == (600, 600)
    code = {"acceptance": 0.73, "acceptance_in_status": 0.74, "tokens_per_second": 900, "spread": [900, 900]}
    assert found["code"] == code | {"speedup": 1.5}
    assert (found["drift"]["acceptance"], found["drift"]["speedup"]) == (0.0, 0.4)
    assert (found["decision"]["seconds_from_onset"], found["seconds_to_patch"]) == (12, 0.12)
    assert found["dial"] == {"seconds_to_force": 0.75, "seconds_until_up": 55, "seconds_to_rollback": 120.5}
    assert (found["dialled"]["speedup"], found["dialled"]["speedup_over_drift"]) == (0.95, 2.38)
    assert found["again"]["speedup"] == 1.4
    assert found["decision"]["reason"] == "AcceptanceRateLow"
    assert found["serving_again_seconds"] == pytest.approx(19.2)
    assert found["rolled_back_seconds"] == 20.5
    assert (found["after"]["speedup"], found["after"]["speedup_over_drift"]) == (0.9, 2.25)
    assert (found["kserve"], found["steps"]) == ("0.20.0", {"plain service comes up": 22.1})
    windows = found["windows"]
    assert (windows["interval"], windows["window"], windows["strategy"]) == ("1s", "5s", "Surge")


def test_failed_requests_are_reported_with_their_time_and_their_error(run: KServeRun) -> None:
    """Nothing is hidden: a request that failed during the rollback is in the file."""
    found = demo.report(run)["requests"]
    assert (found["ok"], found["failed"]) == (92, 1)
    assert found["failures"] == [{"seconds_from_onset": 231.3, "why": "Refused: no endpoints"}]


@pytest.mark.parametrize(("decided", "later", "kept"), [(15.0, 2.0, [True] * 3), (15.1, 2.1, [False] * 3)])
def test_a_promise_is_kept_up_to_its_limit_and_no_further(
    run: KServeRun, decided: float, later: float, kept: list[bool]
) -> None:
    """(failureLimit + 1) windows of 5 s to the decision; 2 s from there to the dial, and from a rollback to a patch."""
    at = {"decided": ONSET + decided, "dialled": ONSET + decided + later, "patched": run.moments.given_up + later}
    moments = dataclasses.replace(run.moments, **at)
    found = demo.report(dataclasses.replace(run, moments=moments))
    assert [each["kept"] for each in found["promises"]] == kept
    assert ("NOT KEPT" in demo.words(found)) is (False in kept)


def test_the_picture_counts_from_the_change_of_traffic(run: KServeRun) -> None:
    """From the first measured second with speculation to the last one after it, with honest zeros in between."""
    axes: list[Any] = demo.draw(run, demo.report(run)).axes
    upper, lower = axes
    assert lower.get_xlim() == (-20, 255)
    accepted, *moments = upper.lines
    assert accepted.get_xydata() == pytest.approx(np.array([(-6, 0.73), (1, 0.73), (11, 0.0)]))
    assert [each.get_xdata()[0] for each in moments] == [0, 12, 25, 80, 95, 107, 227.5, 246.75]
    assert {each.get_text() for each in upper.texts} >= {"drift", "dial off, 12.0 s", "dial up", "rollback"}
    by_second = dict(lower.lines[0].get_xydata())
    assert (by_second[-19.5], by_second[5.5], by_second[50.5]) == (pytest.approx(900), pytest.approx(240), 0)
    levels = [each.get_segments()[0].tolist() for each in lower.collections]
    assert [(first[0], last[0]) for first, last in levels] == [(-20, 0), (25, 95), (0, 25), (95, 255)]


def test_the_files_are_the_report_and_its_picture(run: KServeRun, tmp_path: pathlib.Path) -> None:
    """demo.json is what the pages read."""
    found = demo.report(run)
    demo.write(run, found, tmp_path)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["demo.json", "demo.png"]
    assert json.loads((tmp_path / "demo.json").read_text(encoding="utf-8")) == found


def test_the_readme_and_the_page_show_the_recorded_run_and_no_request_of_it_failed() -> None:
    """docs/demo/demo.json, README.md and docs/demo.md are of one run."""
    found = json.loads((ROOT / "docs" / "demo" / "demo.json").read_text(encoding="utf-8"))
    front, page = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/demo.md"))
    assert (demo.readme(front), demo.page(page)) == (front, page)
    assert demo.words(found) in page
    words = " ".join(front.split())
    assert f"{found['code']['speedup']} times as fast with its draft" in words
    assert f"at {found['drift']['speedup']} of the baseline speed" in words
    assert f"{found['decision']['seconds_from_onset']} s after the change the operator decides" in words
    assert f"{found['dial']['seconds_to_force']} s after that the running engine drafts nothing" in words
    assert f"{found['serving_again_seconds']:.0f} s after that a baseline pod serves" in words
    assert f"No request of {found['requests']['ok']} failed" in words
    assert found["requests"]["failed"] == 0


def test_a_run_with_failed_requests_shows_them(run: KServeRun, tmp_path: pathlib.Path) -> None:
    """The numbers are those of the file, also where they are bad."""
    demo.write(run, demo.report(run), tmp_path)
    file = tmp_path / "demo.json"
    front = " ".join(demo.readme((ROOT / "README.md").read_text(encoding="utf-8"), file).split())
    assert "a tiny model, 1.5 times as fast with its draft" in front
    assert "1 of 93 requests failed" in front
    page = demo.page((ROOT / "docs" / "demo.md").read_text(encoding="utf-8"), file)
    for words in ("92 answered, 1 failed", "| 1.50x |", "| 0.40x |", "2.25x of before", "KServe 0.20.0"):
        assert words in page


def test_a_request_over_an_edge_counts_by_its_share() -> None:
    """A quarter of its time inside is a quarter of its tokens; what only touches counts nothing."""
    assert demo.rate([DemoAnswer(0, 2, 100), DemoAnswer(1, 4, 100)], Span(0, 4)) == pytest.approx(50)
    assert demo.rate([DemoAnswer(-3, 1, 100)], Span(0, 1)) == pytest.approx(25)
    assert demo.rate([DemoAnswer(-1, 0, 100), DemoAnswer(1, 2, 100)], Span(0, 1)) == 0


def test_slices_cover_the_span_without_gap_or_overlap() -> None:
    """Slices are of equal length, as near to the wanted one as whole numbers allow, and at least one."""
    cut = demo.slices(Span(1, 12), 3)
    assert [each.end for each in cut[:-1]] == [each.begin for each in cut[1:]]
    assert (len(cut), cut[0].begin, cut[-1].end) == (4, 1, 12)
    assert len(demo.slices(Span(0, 1), 3)) == 1


def test_acceptance_is_the_difference_inside_the_span_over_all_pods() -> None:
    """What was counted before the span, or by another pod, is not mixed up. Without drafts there is no rate."""
    readings = [
        Reading(at=0, pod="a", drafted=1000, accepted=0),
        Reading(at=1, pod="a", drafted=2000, accepted=900),
        Reading(at=1, pod="b", drafted=0, accepted=0),
        Reading(at=3, pod="a", drafted=2100, accepted=970),
        Reading(at=3, pod="b", drafted=100, accepted=50),
        Reading(at=4, pod="b", drafted=100, accepted=50),
    ]
    assert demo.acceptance(readings, Span(1, 3)) == pytest.approx(120 / 200)
    assert demo.acceptance(readings, Span(3, 9)) is None
    assert [span.end for span, _, _ in demo.drafts(readings)] == [1, 3, 3]


def test_counters_of_all_engines_on_a_page_are_added_up() -> None:
    """Totals only: the counters by position are not added to them. Without speculation there are none."""
    assert story.counters(PAGE) == (400, 292)
    assert story.counters(PAGE + PAGE.replace('engine="0"', 'engine="1"')) == (800, 584)
    assert story.counters("vllm:generation_tokens_total 5\n") is None


def test_the_samples_differ_in_speculation_alone() -> None:
    """Else the demo would compare two things at once."""
    baseline, speculative = story.sample(story.BASELINE), story.sample(story.SPECULATIVE)
    assert speculative["spec"].pop("speculation")["tokens"] == 4
    assert baseline == speculative
    assert baseline["metadata"] == {"namespace": story.NAMESPACE, "name": "tiny"}


def test_the_samples_run_on_a_processor_with_windows_of_seconds(run: KServeRun) -> None:
    """The README states this about the demo: no accelerator, and a decision within seconds."""
    spec = Spec.model_validate(SPEC)
    assert spec.engine.accelerator is Accelerator.CPU
    assert run.decision_bound == (spec.guard.failure_limit + 1) * spec.guard.window <= 30
    assert spec.rollout.deadline < story.PATIENCE


def test_two_pods_of_the_samples_fit_on_two_cores_beside_a_kind_control_plane() -> None:
    """A surge needs room for both; kind's own pods ask for 950m, KServe and the operator for 150m."""
    assert 2 * int(SPEC["resources"]["requests"]["cpu"].removesuffix("m")) + 950 + 150 <= 2000
