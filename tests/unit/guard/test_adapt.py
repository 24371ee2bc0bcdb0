"""Adapt: the draft tokens by load that dips ask for, and when they are set, kept and taken back."""

from typing import Any

import pytest
from tests.unit.builders import BACK, LOW, OUT, PASSED, PROGRESSING, UNREAD, make_reduction, make_rollback, make_state
from tests.unit.guard.films import Frame, strip
from tests.unit.guard.test_best_tokens import GOOD, POOR, REQUESTS, dips_at

from specdec_operator.api.guard import GuardMode
from specdec_operator.guard import adapt
from specdec_operator.guard.adapt import AFTER_TROUBLE, PAUSE, wanted_rows
from specdec_operator.guard.decisions import Adaptation
from specdec_operator.guard.dips import DipTotals, Kind, OtherDips, OtherKind
from specdec_operator.guard.gain import DipEvidence, DipGain, DipSpan, gain_of
from specdec_operator.guard.rows import SIZES, Rows, TokensUpTo, WantedRows, rows_by_size, rows_text, tokens_at
from specdec_operator.guard.state import Phase, State
from specdec_operator.guard.user_intent import UserIntent, follow_user

K = 4
Loads = dict[int, tuple[tuple[float, ...], dict[int, float]]]
"""By load: the shares that are accepted up to each position with all tokens, and by tokens of a dip the seconds of its
steps / of those around it.
"""


def rows(*pairs: tuple[int | None, int]) -> Rows:
    """Rows of a load and its tokens."""
    return tuple(TokensUpTo(up_to=up_to, tokens=tokens) for up_to, tokens in pairs)


def window(loads: Loads, present: Rows) -> DipSpan:
    """A window in which each load drafts what the rows have; a dip at more tokens has few steps."""
    kinds: dict[Kind, DipTotals] = {}
    others: dict[OtherKind, DipTotals] = {}
    accepted: dict[Kind, tuple[float, ...]] = {}
    for batch, (shares, ratios) in loads.items():
        home = tokens_at(present, batch, K)
        for tokens, share in ((home, 1.0), *((dip, 0.05) for dip in ratios if dip > home)):
            brought = DipTotals(
                seconds=100 * share, requests=REQUESTS * share, tokens=REQUESTS * share * (1 + sum(shares[:tokens]))
            )
            if tokens:
                kinds[tokens, batch] = brought
                accepted[tokens, batch] = tuple(REQUESTS * share * each for each in shares[:tokens])
        for dip, ratio in ratios.items():
            if dip:
                others[home, batch, dip] = dips_at(ratio)
            elif home:
                kinds[home, batch] = kinds[home, batch].plus(dips_at(ratio))
    return DipSpan(kinds=kinds, other=OtherDips(dips=others, accepted=accepted), seconds=120.0)


def asked(loads: Loads, present: Rows = (), windows: int = 20, gain: DipGain | None = None) -> WantedRows | None:
    """What so many equal windows ask for."""
    evidence = DipEvidence()
    for _ in range(windows):
        evidence = evidence.plus(window(loads, present))
    return wanted_rows(evidence.before, gain, present, K)


CROSS: Loads = {1: (GOOD, {0: 0.5, 1: 0.62}), 8: (POOR, {0: 0.4, 1: 0.9})}
"""A draft that pays alone, and with eight requests costs more than it brings."""


def test_nothing_is_drafted_where_drafting_costs_more_than_it_brings() -> None:
    """And at larger loads, which were not seen; those between are left alone."""
    found = asked(CROSS)
    assert found is not None
    assert found.rows == rows((4, 4), (None, 0))
    assert found.message == ("with up to 8 running requests none is 1.56 times as fast as 4 (at least 1.53, 194 dips)")


@pytest.mark.parametrize(
    ("loads", "wanted"),
    [
        ({1: (GOOD, {0: 0.5, 1: 0.62, 2: 0.75, 3: 0.88})}, None),
        ({1: (POOR, {0: 0.65, 1: 0.7, 2: 0.9})}, rows((None, 1))),
        ({1: (POOR, {0: 0.60, 1: 0.92})}, None),
        ({2: (POOR, {0: 0.4}), 1: (GOOD, {})}, rows((1, 4), (None, 0))),
        ({64: (GOOD, {}), 2: (POOR, {0: 0.4})}, rows((1, 4), (2, 0), (None, 4))),
        ({}, None),
    ],
    ids=["all pay", "one pays most", "not worth a change", "larger loads", "a larger load is known", "nothing seen"],
)
def test_only_what_is_surely_faster_is_changed(loads: Loads, wanted: Rows | None) -> None:
    """What dips do not show stays."""
    found = asked(loads)
    assert (found.rows if found else None) == wanted


@pytest.mark.parametrize("windows", [0, 1])
def test_too_few_dips_change_nothing(windows: int) -> None:
    """Eight dips at least, and the bound of those is wide."""
    assert asked({8: (POOR, {0: 0.55})}, windows=windows) is None


def test_without_the_accepted_tokens_by_position_only_nothing_can_be_compared() -> None:
    """A rule on the way may drop that series."""
    evidence = DipEvidence()
    for _ in range(20):
        seen = window({1: (POOR, {0: 0.4, 1: 0.2})}, ())
        evidence = evidence.plus(DipSpan(kinds=seen.kinds, other=OtherDips(dips=seen.other.dips), seconds=120.0))
    found = wanted_rows(evidence.before, None, (), K)
    assert found is not None
    assert found.rows == rows((None, 0))


NIGHT = rows((4, 4), (None, 0))


UP_TO_8 = rows((8, 4), (None, 0))
ONE = rows((4, 4), (None, 1))


@pytest.mark.parametrize(
    ("loads", "present", "wanted"),
    [
        ({8: (GOOD, {4: 1.8})}, NIGHT, UP_TO_8),
        ({8: (GOOD, {4: 1.8}), 16: (POOR, {4: 2.4})}, NIGHT, UP_TO_8),
        ({8: (GOOD, {4: 4.0})}, NIGHT, None),
        ({8: (GOOD, {4: 4.2})}, NIGHT, None),
        ({1: (GOOD, {0: 0.5})}, NIGHT, None),
        ({size: (GOOD, {4: 1.8}) for size in SIZES[3:]}, NIGHT, ()),
        ({8: (GOOD, {4: 1.4, 0: 0.8})}, ONE, rows((8, 4), (None, 1))),
        ({8: (POOR, {0: 0.5, 4: 2.0})}, ONE, NIGHT),
    ],
    ids=[
        "it pays again, and larger loads were not seen",
        "it pays up to a load",
        "not surely",
        "it does not pay",
        "loads that are not seen stay",
        "it pays at all loads",
        "from one to all",
        "from one to none",
    ],
)
def test_dips_at_all_tokens_show_that_they_pay_again(loads: Loads, present: Rows, wanted: Rows | None) -> None:
    """Compared with what the row drafts, nothing too."""
    found = asked(loads, present)
    assert (found.rows if found else None) == wanted


def test_a_loss_over_all_loads_ends_drafting_where_it_seems_to_cost() -> None:
    """Each load alone is not sure after few windows; all of them together are."""
    loads: Loads = {1: (GOOD, {0: 0.5}), 4: (POOR, {0: 0.58}), 8: (POOR, {0: 0.58})}
    evidence = DipEvidence().plus(window(loads, ())).plus(window(loads, ()))
    gain = gain_of(evidence.before)
    assert gain is not None
    sure = DipGain(gain=0.9, high=0.97, ratio=0.5, length=1.8, share=1.0, dips=72, seconds=240.0)
    assert wanted_rows(evidence.before, gain, (), K) is None
    found = wanted_rows(evidence.before, sure, (), K)
    assert found is not None
    assert found.rows == rows((2, 4), (None, 0))
    assert found.message == (
        "drafting gains 0.90 over all loads, 0.97 at most (72 dips), and less than 1 with up to 4, 8 running requests"
    )


def test_rows_as_text_and_by_size() -> None:
    """As an Event shows them."""
    assert rows_text(rows((2, 3), (8, 1), (None, 0))) == "3 up to 2 running requests, then 1 up to 8, then none"
    assert rows_text(rows((None, 0))) == "none"
    assert rows_by_size({1: 3, 2: 3, 4: 1}) == rows((2, 3), (None, 1))
    assert [tokens_at(rows((2, 3), (None, 1)), each, 4) for each in (1, 2, 3, 900)] == [3, 3, 1, 1]
    assert tokens_at((), 7, 4) == 4


WANTED = WantedRows(rows=NIGHT, message="with up to 8 running requests none is 1.56 times as fast as 4")
MAY: Frame = {"adapts": True, "dials": True}
ASKS: Frame = MAY | {"verdict": PASSED, "rows": WANTED}


def adapted(**changes: Any) -> State:
    """A watched service whose pods draft by load since 0 s."""
    known = {"reason": adapt.ADAPTED, "message": "m", "at": 0.0, "rows": NIGHT}
    return make_state(adapted=Adaptation(**(known | changes)))


def test_rows_are_set_once_with_their_numbers() -> None:
    """The window is judged as any other in the same turn."""
    after, later = strip(make_state(), (10, ASKS), (20, ASKS))
    assert after.adapted == Adaptation(
        reason="Adapted",
        message="draft tokens: 4 up to 4 running requests, then none: with up to 8 running requests none is 1.56 times "
        "as fast as 4",
        at=10.0,
        rows=NIGHT,
    )
    assert (after.judged, later.adapted) == (10, after.adapted)


@pytest.mark.parametrize(
    "frame",
    [
        ASKS | {"adapts": False},
        ASKS | {"mode": GuardMode.OBSERVE},
        ASKS | {"held": True},
        ASKS | {"dials": False},
        ASKS | {"by_hand": True},
        ASKS | {"verdict": LOW},
        MAY | {"rows": WANTED},
        ASKS | {"rows": None},
    ],
    ids=["Recommend", "Observe", "a hold", "no dials", "by hand", "the window fails", "no window", "no evidence"],
)
def test_what_keeps_rows_from_being_set(frame: Frame) -> None:
    """A user's own setting, a failing window and missing data among them."""
    (state,) = strip(make_state(), (10, frame))
    assert state.adapted is None


def test_two_changes_have_five_minutes_between_them() -> None:
    """The second is as sure as the first, and waits."""
    other: Frame = ASKS | {"rows": WantedRows(rows=(), message="it pays again")}
    early, late = strip(adapted(), (PAUSE - 1, other), (PAUSE, other))
    assert early.adapted_rows == NIGHT
    assert late.adapted is not None
    assert late.adapted.message == "draft tokens: the requested number at each load again: it pays again"
    assert (late.adapted_rows, late.adapted.at) == ((), PAUSE)


@pytest.mark.parametrize(
    ("frame", "kept"),
    [
        (MAY, True),
        (MAY | {"verdict": UNREAD}, True),
        (MAY | {"dials": False}, True),
        (MAY | {"held": True}, True),
        (MAY | {"adapts": False}, False),
        (MAY | {"mode": GuardMode.OBSERVE}, False),
        (MAY | {"by_hand": True}, False),
        (MAY | {"rollout": PROGRESSING, "revision": "r2"}, False),
        (MAY | {"mode": GuardMode.OFF}, False),
    ],
    ids=["quiet", "unread", "a pod does not answer", "hold", "Recommend", "Observe", "by hand", "other pods", "Off"],
)
def test_when_rows_stay_and_when_they_end(frame: Frame, kept: bool) -> None:
    """Missing data ends nothing."""
    (state,) = strip(adapted(), (10, frame))
    assert (state.adapted_rows == NIGHT) is kept


def test_rows_that_a_pod_does_not_follow_end_for_an_hour() -> None:
    """An older runtime drafts the same number at each load."""
    deaf: Frame = MAY | {"dial_trouble": "pod a: as the engine was started"}
    after, early, late = strip(adapted(), (30, deaf), (29 + AFTER_TROUBLE, ASKS), (30 + AFTER_TROUBLE, ASKS))
    assert after.adapted is not None
    assert (after.adapted.reason, after.adapted.rows) == ("NotFollowed", ())
    assert "pod a: as the engine was started" in after.adapted.message
    assert (early.adapted_rows, late.adapted_rows) == ((), NIGHT)


@pytest.mark.parametrize("change", [{"reduced": make_reduction()}, {"rollback": make_rollback()}])
def test_a_decision_against_the_draft_ends_rows(change: dict[str, Any]) -> None:
    """It is of another number of tokens, or of none."""
    state = make_state(**change, adapted=adapted().adapted)
    (after,) = strip(state, (10, MAY))
    assert after.adapted is None


def test_windows_that_fail_take_the_draft_out_as_ever() -> None:
    """A rollback goes before Adapt."""
    *_, state = strip(adapted(), *((at, MAY | {"dials": False, "verdict": LOW}) for at in (10, 20, 30)))
    assert (state.phase, state.adapted) == (Phase.RESPONDING, None)


@pytest.mark.parametrize(
    ("changes", "kept"),
    [
        ({}, True),
        ({"service": "other"}, False),
        ({"memory": "other"}, False),
        ({"speculation": "other"}, False),
        ({"retry": "again"}, False),
        ({"rollback": "now"}, False),
    ],
)
def test_what_the_user_changes_ends_rows(changes: dict[str, Any], kept: bool) -> None:
    """Other pods, or another draft: what was measured is not of them."""
    state = make_state(service="s", memory="m", adapted=adapted().adapted)
    intent = {"speculation": state.speculation, "service": "s", "memory": "m", "speculating": True} | changes
    assert (follow_user(state, UserIntent(**intent), 9.0).adapted is not None) is kept


def test_rows_outlive_the_restart_of_one_pod_and_no_rollout() -> None:
    """The others go on with them meanwhile."""
    assert [bool(adapted().enter(phase, 1.0).adapted) for phase in (Phase.WARMING_UP, Phase.WATCHING, OUT, BACK)] == [
        True,
        True,
        False,
        False,
    ]
