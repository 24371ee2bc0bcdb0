"""What is in force in one engine: since when, why, and until when."""

import json
from typing import Any

import pytest

from specdec_runtime.dial import state
from specdec_runtime.dial.state import DialledPod, DialState, Now

POD = DialledPod(started=4, revision="7f9c4d")
START = Now(wall=1_764_283_000.0, steady=50.0)
BEGUN = state.begin(POD, START)


def later(seconds: float) -> Now:
    """Some seconds after the start, by both clocks."""
    return Now(wall=START.wall + seconds, steady=START.steady + seconds)


def asked(tokens: int, at: float, **changes: Any) -> bytes:
    """A setting that was made some seconds after the start."""
    known = {"tokens": tokens, "revision": POD.revision, "time": START.wall + at, "decision": f"d{at:.0f}"}
    return json.dumps(known | changes).encode()


def read(before: DialState, text: bytes, seconds: float) -> DialState:
    """The state after the annotation changed to a text, some seconds after the start."""
    return state.read(before, POD, text, later(seconds))


def test_an_engine_begins_as_its_flags_ask() -> None:
    """All tokens, since its start."""
    shown = state.shown(BEGUN, POD, later(5))
    assert shown == {
        "offered": True,
        "tokens": 4,
        "started": 4,
        "values": [0, 1, 2, 3, 4],
        "revision": "7f9c4d",
        "since": START.wall,
        "why": "as the engine was started",
    }


@pytest.mark.parametrize("tokens", [0, 1, 3, 4])
def test_each_value_up_to_the_started_one_comes_into_force(tokens: int) -> None:
    """With whose it is, since when and until when."""
    found = read(BEGUN, asked(tokens, 10), 11)
    shown = state.shown(found, POD, later(11))
    assert (found.tokens, shown["why"], shown["decision"]) == (tokens, "setting d10", "d10")
    assert shown["since"] == START.wall + (0 if tokens == 4 else 11)
    assert shown["until"] == START.wall + 10 + 3600


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (asked(5, 20), "tokens of the setting is 5, above the 4 that the engine was started with"),
        (asked(2, 20, revision="other"), "revision of the setting is other, and this pod is of 7f9c4d"),
        (asked(2, 9), "is of 1764283009.000, and one of 1764283010.000 was in force"),
        (asked(2, 10), "is of 1764283010.000, and one of 1764283010.000 was in force"),
        (asked(2, 9 - 3600), "ran out 11 s ago"),
        (asked(2, 321), "is 301 s ahead of this node's clock"),
        (b"garbage", "not JSON"),
        (b"x" * 200_000, "more than 4096 bytes"),
    ],
)
def test_what_is_refused_changes_nothing_in_force_and_is_shown(text: bytes, words: str) -> None:
    """Unknown values, another revision, a replay, another day, garbage: the setting before them holds."""
    before = read(BEGUN, asked(1, 10), 10)
    found = read(before, text, 20)
    assert (found.tokens, found.setting, found.until) == (1, before.setting, before.until)
    refused = state.shown(found, POD, later(20))["refused"]
    assert isinstance(refused, dict)
    assert refused["at"] == START.wall + 20
    assert words in refused["why"]


def test_a_setting_that_is_not_renewed_runs_out_into_what_the_flags_ask() -> None:
    """The operator may be gone. A renewal moves the end, and not the beginning."""
    off = read(BEGUN, asked(0, 0, holdFor=60), 0)
    assert state.expire(off, POD, later(59)) == off
    renewed = read(off, asked(0, 50, holdFor=60), 50)
    assert renewed.since == off.since
    assert state.expire(renewed, POD, later(61)) == renewed
    over = state.expire(renewed, POD, later(110))
    assert (over.tokens, over.setting, over.since) == (4, None, START.wall + 110)
    assert over.why == "as the engine was started: setting d50 ran out after 60 s without renewal"


def test_a_setting_that_ran_out_does_not_come_back() -> None:
    """The annotation still stands when a container starts again, or when its file is written again."""
    over = state.expire(read(BEGUN, asked(0, 0, holdFor=60), 0), POD, later(60))
    assert read(over, asked(0, 0, holdFor=60), 61).tokens == 4
    fresh = state.begin(POD, later(100))
    assert read(fresh, asked(0, 0, holdFor=60), 100).tokens == 4
    assert read(fresh, asked(0, 0, holdFor=3600), 100).tokens == 0


def test_what_is_left_counts_from_when_it_was_made() -> None:
    """A container that starts again takes the rest, and a clock that is behind gets no more than the whole."""
    assert read(state.begin(POD, later(100)), asked(0, 0, holdFor=600), 100).until == START.steady + 600
    assert read(BEGUN, asked(0, 200, holdFor=600), 0).until == START.steady + 600


def test_without_the_annotation_the_flags_hold() -> None:
    """Removed by hand: at once. What was never there changes nothing."""
    off = read(BEGUN, asked(0, 0), 0)
    gone = read(off, b"\n", 30)
    assert (gone.tokens, gone.since) == (4, START.wall + 30)
    assert gone.why == "as the engine was started: the setting was removed"
    assert read(BEGUN, b"", 30) == BEGUN
    assert read(gone, asked(0, 0), 40).tokens == 4


def test_the_same_file_again_changes_nothing() -> None:
    """Nothing is refused, and nothing begins again."""
    off = read(BEGUN, asked(0, 0), 0)
    assert read(off, asked(0, 0), 30) == off
