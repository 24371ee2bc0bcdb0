"""Dips at smaller numbers of draft tokens, and accepted tokens by position: read from a page, and summed."""

from dataclasses import replace

import pytest
from tests.unit.builders import make_evidence

from specdec_operator.guard.counters import read_counters
from specdec_operator.guard.dips import ACCEPTED, DipTotals, OtherDips
from specdec_operator.guard.window import pooled

PAGE = """\
vllm:generation_tokens_total{engine="0"} 100
specdec_engine_step_seconds_total{batch="4",prompt="false",tokens="3"} 2.5
specdec_engine_step_requests_total{batch="4",prompt="false",tokens="3"} 300
specdec_engine_tokens_total{batch="4",prompt="false",tokens="3"} 600
specdec_engine_accepted_tokens_total{batch="4",position="0",prompt="false",tokens="3"} 200
specdec_engine_accepted_tokens_total{batch="4",position="2",prompt="false",tokens="3"} 40
specdec_engine_accepted_tokens_total{batch="4",position="0",prompt="true",tokens="3"} 7
specdec_engine_accepted_tokens_total{batch="4",position="0",prompt="false",tokens="2"} 5
specdec_engine_dips_total{batch="4",dip="0",tokens="3"} 10
specdec_engine_dips_total{batch="4",dip="2",tokens="3"} 4
specdec_engine_dip_ratios_total{batch="4",dip="0",tokens="3"} 5
specdec_engine_dip_ratios_total{batch="4",dip="2",tokens="3"} 3
specdec_engine_dip_squared_ratios_total{batch="4",dip="0",tokens="3"} 2.6
specdec_engine_dip_squared_ratios_total{batch="4",dip="2",tokens="3"} 2.3
"""
DIPS = {(3, 4, 2): DipTotals(dips=4, ratios=3, squares=2.3)}
SEEN = OtherDips(dips=DIPS, accepted={(3, 4): (200.0, 0.0, 40.0), (2, 4): (5.0,)})


def without(word: str) -> str:
    """The page without lines that have a word."""
    return "".join(line for line in PAGE.splitlines(keepends=True) if word not in line)


def test_a_page_has_dips_by_what_they_draft_and_accepted_tokens_by_position() -> None:
    """Those at nothing are of the gain, and steps with a prompt are not compared."""
    assert read_counters(PAGE).other_dips == SEEN


def test_an_engine_that_has_not_dipped_yet_has_its_accepted_tokens() -> None:
    """Fewer than four dips have no other among them."""
    assert read_counters(without('dip="2"')).other_dips == OtherDips(accepted=SEEN.accepted)


@pytest.mark.parametrize("word", [ACCEPTED, "specdec_engine_tokens_total", "_dips_total"])
def test_a_series_that_a_rule_dropped_leaves_nothing(word: str) -> None:
    """What is missing was not 0."""
    assert read_counters(without(word)).other_dips == OtherDips()


@pytest.mark.parametrize("position", ["", "x", "-1", "128"])
def test_a_position_that_the_clock_does_not_write_leaves_the_gain(position: str) -> None:
    """Nothing else of the page depends on it."""
    line = f'{ACCEPTED}{{batch="8",position="{position}",prompt="false",tokens="3"}} 1\n'
    found = read_counters(PAGE + line)
    assert found.other_dips == OtherDips()
    assert found.dips == read_counters(PAGE).dips != {}


def test_a_clock_with_very_many_kinds_of_steps_leaves_the_rest_of_the_page() -> None:
    """So many that parsing them takes long, and no more is known of them."""
    lines = (
        f'specdec_engine_step_seconds_total{{batch="{batch}",prompt="false",tokens="{tokens}"}} 1\n'
        for batch in range(1, 100)
        for tokens in range(1, 100)
    )
    found = read_counters("".join((PAGE, *lines)))
    assert (found.generation_tokens, found.dips, found.other_dips) == (100, {}, OtherDips())


def test_a_window_has_what_was_counted_in_it() -> None:
    """An engine that restarted counts from 0 again; what was not known before is not of this window."""
    later = OtherDips(
        dips={(3, 4, 2): DipTotals(dips=6, ratios=4.5, squares=3.4), (3, 4, 1): DipTotals(dips=1, ratios=1, squares=1)},
        accepted={(3, 4): (230.0, 9.0, 40.0), (3, 8): (1.0,)},
    )
    found = later.since(SEEN)
    assert (found.dips[3, 4, 2].dips, found.dips[3, 4, 1].dips) == (2, 1)
    assert found.accepted == {(3, 4): (30.0, 9.0, 0.0), (3, 8): (1.0,)}
    assert SEEN.since(OtherDips(accepted=SEEN.accepted)).dips == DIPS
    assert SEEN.since(OtherDips()) == OtherDips()
    assert SEEN.since(later).dips == {(3, 4, 2): DipTotals()}


def test_pods_and_windows_add_up() -> None:
    """And older ones count less."""
    parts = {pod: make_evidence(other_dips=SEEN) for pod in "ab"}
    both = pooled(parts, seconds=10, unread=0).other_dips
    assert both == SEEN.plus(SEEN)
    assert both.dips == {(3, 4, 2): DipTotals(dips=8, ratios=6, squares=4.6)}
    assert both.accepted == {(2, 4): (10.0,), (3, 4): (400.0, 0.0, 80.0)}
    assert both.faded(0.5) == SEEN
    assert SEEN.plus(OtherDips()) == OtherDips().plus(SEEN) == SEEN
    longer = replace(SEEN, accepted={(2, 4): (1.0, 2.0, 3.0)})
    assert SEEN.plus(longer).accepted[2, 4] == (6.0, 2.0, 3.0)
