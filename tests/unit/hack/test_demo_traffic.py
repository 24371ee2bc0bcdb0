"""Speed out of single requests, and acceptance out of the engine's traffic."""

import pytest
from hack.demo import traffic
from hack.demo.traffic import Completion, Reading, Span

PAGE = """\
# HELP vllm:spec_decode_num_draft_tokens_total Number of draft tokens.
# TYPE vllm:spec_decode_num_draft_tokens_total counter
vllm:spec_decode_num_draft_tokens_total{engine="0",model_name="tiny"} 400.0
vllm:spec_decode_num_accepted_tokens_total{engine="0",model_name="tiny"} 292.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="tiny",position="0"} 90.0
vllm:generation_tokens_total{engine="0",model_name="tiny"} 1.2e+03
"""


def _answer(began: float, ended: float, tokens: int = 100) -> Completion:
    return Completion(began=began, ended=ended, tokens=tokens)


def test_tokens_of_requests_inside_a_span_are_summed_over_its_length() -> None:
    """Two answers of 100 tokens in 4 s are 50 tokens/s, whether or not they overlap."""
    span = Span(begin=0, end=4)
    assert traffic.rate([_answer(0, 2), _answer(2, 4)], span) == pytest.approx(50)
    assert traffic.rate([_answer(0, 3), _answer(1, 4)], span) == pytest.approx(50)


def test_a_request_over_an_edge_counts_by_its_share() -> None:
    """A quarter of its time inside is a quarter of its tokens; what only touches counts nothing."""
    assert traffic.rate([_answer(-3, 1)], Span(begin=0, end=1)) == pytest.approx(25)
    assert traffic.rate([_answer(-1, 0), _answer(1, 2)], Span(begin=0, end=1)) == 0


def test_slices_cover_the_span_without_gap_or_overlap() -> None:
    """Slices are of equal length, as near to the wanted one as whole numbers allow, and at least one."""
    cut = traffic.slices(Span(begin=1, end=12), 3)
    assert len(cut) == 4
    assert [each.end for each in cut[:-1]] == [each.begin for each in cut[1:]]
    assert (cut[0].begin, cut[-1].end) == (1, 12)
    assert len(traffic.slices(Span(begin=0, end=1), 3)) == 1


def test_the_speed_is_the_median_of_slices_with_its_spread() -> None:
    """A stall in one slice moves the spread and not the median."""
    fast = traffic.speed([_answer(0, 3, 300), _answer(3, 6, 30), _answer(6, 9, 330)], Span(begin=0, end=9), 3)
    assert fast == (pytest.approx(100), pytest.approx(10), pytest.approx(110))


def test_counters_are_read_from_the_engines_page() -> None:
    """Totals only: the counters by position, whose names begin the same, are not added to them."""
    assert traffic.read(PAGE, pod="a", at=1.0) == Reading(at=1.0, pod="a", drafted=400, accepted=292)


def test_counters_of_several_engines_are_added_up() -> None:
    """Data-parallel engines have a line each."""
    found = traffic.read(PAGE + PAGE.replace('engine="0"', 'engine="1"'), pod="a", at=1.0)
    assert found is not None
    assert (found.drafted, found.accepted) == (800, 584)


def test_a_page_without_speculation_gives_no_reading() -> None:
    """A baseline engine has no such family, and one of the two alone is not enough."""
    assert traffic.read("vllm:generation_tokens_total 5\n", pod="a", at=1.0) is None
    assert traffic.read("vllm:spec_decode_num_draft_tokens_total 5\n", pod="a", at=1.0) is None


def test_acceptance_is_the_difference_inside_the_span_over_all_pods() -> None:
    """What was counted before the span, or by another pod, is not mixed up."""
    readings = [
        Reading(at=0, pod="a", drafted=1000, accepted=0),
        Reading(at=1, pod="a", drafted=2000, accepted=900),
        Reading(at=1, pod="b", drafted=0, accepted=0),
        Reading(at=3, pod="a", drafted=2100, accepted=970),
        Reading(at=3, pod="b", drafted=100, accepted=50),
    ]
    assert traffic.acceptance(readings, Span(begin=1, end=3)) == pytest.approx(120 / 200)
    assert traffic.acceptance(readings, Span(begin=4, end=9)) is None


def test_the_course_of_acceptance_has_a_point_for_each_reading_that_saw_drafts() -> None:
    """The first reading of a pod has nothing to compare with, and one without new drafts no rate."""
    readings = [
        Reading(at=1, pod="a", drafted=100, accepted=70),
        Reading(at=2, pod="a", drafted=200, accepted=140),
        Reading(at=2.5, pod="b", drafted=10, accepted=0),
        Reading(at=3, pod="a", drafted=200, accepted=140),
        Reading(at=4, pod="a", drafted=300, accepted=140),
    ]
    assert traffic.acceptances(readings) == [(2, pytest.approx(0.7)), (4, 0.0)]
