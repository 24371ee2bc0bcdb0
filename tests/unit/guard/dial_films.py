"""The dial at nothing, as film strips: low acceptance that passes, that stands, and a dial that is not followed."""

from tests.unit.builders import (
    DIALLED,
    LOW,
    OUT,
    PASSED,
    PROGRESSING,
    RESPOND,
    SERVE,
    UNREAD,
    WATCH,
    limits,
    make_failure,
    make_state,
)
from tests.unit.guard.films import Frame, Frames

from specdec_operator.api.guard import GuardMode
from specdec_operator.guard.decisions import Adaptation, DialDecision, Probe, Reduction
from specdec_operator.guard.outages import Outage
from specdec_operator.guard.rows import TokensUpTo, WantedRows
from specdec_operator.guard.state import Phase, State
from specdec_operator.guard.verdict import Outcome, Reason, Verdict

LOW_ACCEPTANCE = DialDecision(reason="AcceptanceRateLow", message="acceptance 0.02 < 0.30", at=0.0)
OFF = Verdict(outcome=Outcome.INCONCLUSIVE, reason=Reason.DIALLED, message="the dial is at 0 draft tokens")
TRIES: Frame = {"retry_after": 60.0, "retry_limit": 1}
ANSWERS: Frame = TRIES | {"dials": True, "thresholds": limits(acceptance_rate=0.4, min_draft_tokens=100)}
LOST = tuple(Outage(pod=pod, reason="EngineCrashed", since=1.0, until=2000.0) for pod in "aab")


def window(accepted: float, drafted: float = 60.0) -> Frame:
    """A closed window whose probes accepted so many of their drafted tokens."""
    return ANSWERS | {"verdict": OFF, "probe": Probe(drafted=drafted, accepted=accepted, drafts=drafted / 4)}


def dialled(**changes: object) -> State:
    """A service whose dial the guard has set to nothing."""
    return make_state(DIALLED, **({"dial": LOW_ACCEPTANCE} | changes))


FAILS: Frame = ANSWERS | {"verdict": LOW}
FEWER: Frame = {"reduce_tokens": True, "fewer": 2}
DEAF: Frame = ANSWERS | {"dial_trouble": "pod a drafts 4"}


def reduced(**changes: object) -> State:
    """A service whose running pods draft two tokens, by their dial."""
    decided = Reduction(reason="AcceptanceRateLow", message="acceptance 0.25 < 0.30", at=0.0, tokens=2, dialled=True)
    return make_state(**({"reduced": decided} | changes))


BY_LOAD = WantedRows(rows=(TokensUpTo(up_to=4, tokens=4), TokensUpTo(tokens=0)), message="none is faster")
ADAPTS: Frame = ANSWERS | {"adapts": True}


def by_load(**changes: object) -> State:
    """A service whose running pods draft by load."""
    decided = Adaptation(reason="Adapted", message="none is faster", at=0.0, rows=BY_LOAD.rows)
    return make_state(**({"adapted": decided} | changes))


TWO: Frame = ANSWERS | {"pods": frozenset("ab")}
FILMS: dict[str, tuple[State, Frames, list[Phase]]] = {
    "windows fail, and the pods have a dial": (
        make_state(),
        ((1, FAILS), (2, FAILS), (3, FAILS)),
        [WATCH, WATCH, DIALLED],
    ),
    "without a retry the dial is not tried": (make_state(failures=2), ((3, FAILS | {"retry_limit": 0}),), [RESPOND]),
    "Observe sets no dial": (make_state(failures=2), ((3, FAILS | {"mode": GuardMode.OBSERVE}),), [WATCH]),
    "the mood of the traffic passes": (
        dialled(),
        ((160, window(1)), (310, window(40)), (460, window(40)), (580, FAILS)),
        [DIALLED, DIALLED, WATCH, WATCH],
    ),
    "one good probe is not enough": (dialled(), ((160, window(200, 300)),), [DIALLED]),
    "nor is one that two windows share": (
        dialled(),
        ((149, window(90, 99)), (269, window(90, 99))),
        [DIALLED, DIALLED],
    ),
    "what was drafted before the dial was followed is no probe": (
        dialled(),
        ((60, window(90, 99)), (180, window(90, 99))),
        [DIALLED, DIALLED],
    ),
    "the failure stands": (
        dialled(),
        ((160, window(1)), (310, window(1)), (600, ANSWERS)),
        [DIALLED, DIALLED, RESPOND],
    ),
    "without traffic nothing is decided": (dialled(), ((120, window(0, 0)), (9999, ANSWERS)), [DIALLED, DIALLED]),
    "what could not be read is no probe": (
        dialled(),
        ((120, window(40) | {"verdict": UNREAD}), (240, window(40) | {"verdict": UNREAD})),
        [DIALLED, DIALLED],
    ),
    "no retry is left to return by": (dialled(retries=1), ((599, window(60)), (600, ANSWERS)), [DIALLED, RESPOND]),
    "a pod does not follow": (dialled(), ((20, ANSWERS | {"dial_trouble": "pod a drafts 4"}),), [RESPOND]),
    "a hold keeps the dial as it is": (
        dialled(),
        ((9999, ANSWERS | {"dial_trouble": "pod a drafts 4", "held": True}),),
        [DIALLED],
    ),
    "the mode becomes Observe": (dialled(), ((1, ANSWERS | {"mode": GuardMode.OBSERVE}),), [WATCH]),
    "the user's own setting is not judged": (
        dialled(),
        ((160, window(90, 99) | {"by_hand": True}), (9999, window(1) | {"by_hand": True})),
        [DIALLED, DIALLED],
    ),
    "nobody knows why it is dialled": (make_state(DIALLED), ((1, ANSWERS),), [WATCH]),
    "other pods are asked for while it is dialled": (
        dialled(),
        ((1, {"revision": "r2", "rollout": PROGRESSING}),),
        [OUT],
    ),
    "the guard is switched off while it is dialled": (dialled(), ((1, {"mode": GuardMode.OFF}),), [SERVE]),
    "pods fail while it is dialled": (
        dialled(),
        ((1, {"pod_failures": tuple(make_failure(each) for each in "abc"), "pods": frozenset("abc")}),),
        [RESPOND],
    ),
    "pods are unavailable for too long while it is dialled": (dialled(outages=LOST), ((9000, TWO),), [RESPOND]),
    "an engine hangs while it is dialled": (
        dialled(),
        ((1, TWO | {"pod_failures": (make_failure("a", reason="Stalled"),)}), (5, TWO | {"pods": frozenset("bc")})),
        [DIALLED, DIALLED],
    ),
    "fewer tokens would pass, and the pods have a dial": (make_state(failures=2), ((3, FAILS | FEWER),), [WATCH]),
    "fewer tokens would pass, and a pod has no dial": (
        make_state(failures=2),
        ((3, FAILS | FEWER | {"dials": False}),),
        [RESPOND],
    ),
    "fewer tokens by the dial fail too": (
        reduced(failures=2),
        ((3, FAILS | FEWER), (20, DEAF)),
        [DIALLED, RESPOND],
    ),
    "they fail, and no retry is left": (reduced(failures=2), ((3, FAILS | FEWER | {"retry_limit": 0}),), [RESPOND]),
    "a pod does not follow to fewer tokens": (reduced(), ((20, DEAF),), [RESPOND]),
    "a hold keeps fewer tokens as they are": (reduced(), ((20, DEAF | {"held": True}),), [WATCH]),
    "the user's own setting goes before fewer tokens": (reduced(), ((20, DEAF | {"by_hand": True}),), [WATCH]),
    "the requested tokens are tried again by the dial": (reduced(), ((59, ANSWERS), (60, ANSWERS)), [WATCH, WATCH]),
    "other pods are asked for after fewer tokens": (
        reduced(),
        ((1, ANSWERS | {"revision": "r2", "rollout": PROGRESSING}),),
        [OUT],
    ),
    "another number of tokens pays more at some load, until a pod does not follow": (
        make_state(),
        ((1, ADAPTS | {"verdict": PASSED, "rows": BY_LOAD}), (20, ADAPTS | DEAF)),
        [WATCH, WATCH],
    ),
    "nobody wants tokens by load any more": (by_load(), ((20, ANSWERS),), [WATCH]),
    "speculation fails with tokens by load": (
        by_load(failures=2),
        ((3, ADAPTS | FAILS | {"dials": False}),),
        [RESPOND],
    ),
}
