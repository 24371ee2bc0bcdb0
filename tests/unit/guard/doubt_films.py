"""The speed in doubt, as film strips: with baseline pods, and a trial without speculation for a service of one pod."""

from dataclasses import replace
from math import log

from tests.unit.builders import BACK, OUT, RESPOND, WARM, WATCH, make_rollback, make_state
from tests.unit.guard.films import Frame, Frames

from specdec_operator.api.control import ControlMode
from specdec_operator.guard.baseline_pods import FEWEST_PAIRS, Measure, MeasureFinding, Pair, finding_of
from specdec_operator.guard.speed import ALWAYS
from specdec_operator.guard.state import Phase, RequestedBaselinePods, State
from specdec_operator.guard.trial import Traffic, Trial
from specdec_operator.guard.verdict import Outcome, Reason, Verdict
from specdec_operator.observe.baseline_pods import BaselinePodsView
from specdec_operator.observe.obstacle import Obstacle

SLOWER = Verdict(outcome=Outcome.FAIL, reason=Reason.SLOWER_THAN_PLAIN, message="speedup 0.80 < 1.00")
BEYOND = Verdict(outcome=Outcome.INCONCLUSIVE, reason=Reason.BEYOND_BASELINE, message="no plain time at this load")
SETTLED = Verdict(outcome=Outcome.FAIL, reason=Reason.SLOWER_THAN_PLAIN, message="speedup 0.80 < 1.00", final=True)
UNSURE = Verdict(outcome=Outcome.INCONCLUSIVE, reason=Reason.NOT_SIGNIFICANT, message="speedup 0.99 < 1.00")
TWO: Frame = {"control": ControlMode.ON_DOUBT, "replicas": 2}
ONE: Frame = {"control": ControlMode.ON_DOUBT}
SCALED: Frame = {"control": ControlMode.ON_DOUBT, "scaled": True}
STAY: Frame = {"control": ControlMode.ALWAYS, "baseline_replicas": 2}
READY: Frame = {"baseline_pods": BaselinePodsView(serving=1)}
NO_ROOM: Frame = {
    "baseline_pods": BaselinePodsView(obstacle=Obstacle(reason="Unschedulable", words="full", since=10.0, frees=True))
}
ASKED = RequestedBaselinePods(replicas=1, reason="SlowerThanPlain", message="speedup 0.80 < 1.00", at=0.0)
UP = RequestedBaselinePods(replicas=1, reason="SlowerThanPlain", message="speedup 0.80 < 1.00", at=0.0, up=1.0)


def make_pair(speedup: float = 1.2, at: float = 0.0) -> Pair:
    """A window of both arms in which the baseline took 0.02 s per output token."""
    return Pair(at=at, seen={Measure.SPEED: (log(speedup), 0.01)}, baseline=0.02, seconds=0.02 / speedup)


def found(pairs: tuple[Pair, ...], least: float = 1.0) -> tuple[MeasureFinding, ...]:
    """The finding about the speed from windows of both arms."""
    finding = finding_of(pairs, Measure.SPEED, least)
    return () if finding is None else (finding,)


def compared(speedup: float, before: int, verdict: Verdict) -> Frame:
    """One more window of both arms, after so many like it."""
    pairs = (make_pair(speedup),) * (before + 1)
    return {"verdict": verdict, "pair": pairs[-1], "findings": found(pairs) if before + 1 >= FEWEST_PAIRS else ()}


def make_traffic(token_time: float = 0.02, answers: float = 60, requests: float = 60) -> Traffic:
    """A window of two minutes, of answers of a hundred tokens."""
    tokens = 100 * requests
    return Traffic(seconds=120, requests=requests, token_seconds=token_time * tokens, tokens=tokens, answers=answers)


def make_trial(*baseline: float, answers: float = 60, seen: int | None = None) -> Trial:
    """Speculation took 0.02 s per output token, and plain what is given, window by window."""
    windows = tuple(make_traffic(each, answers=answers, requests=answers) for each in baseline)
    return Trial(
        speculating=(make_traffic(),) * 3, least=1.0, plain=windows, seen=len(baseline) if seen is None else seen
    )


OF_TRIAL = make_rollback(reason="SlowerThanPlain")
RECENT: Frame = {"recent": (make_traffic(),) * 3}
BASELINE: Frame = {"speculating": False}


def on_trial(trial: Trial) -> State:
    """A provisional rollback whose baseline pods serve."""
    return make_state(BACK, rollback=replace(OF_TRIAL, trial=trial))


FILMS: dict[str, tuple[State, Frames, list[Phase]]] = {
    "the speed is in doubt, and a baseline pod acquits the draft": (
        make_state(failures=2),
        (
            (1, TWO | {"verdict": SLOWER, "in_row": 3}),
            (2, TWO | READY),
            *((3 + each, TWO | READY | compared(1.2, each, UNSURE)) for each in range(5)),
        ),
        [WATCH] * 7,
    ),
    "the speed is in doubt, and a baseline pod convicts the draft": (
        make_state(control=UP, pairs=(make_pair(0.8),) * 4),
        ((5, TWO | READY | compared(0.8, 4, SETTLED)),),
        [RESPOND],
    ),
    "what could not be compared for three windows is in doubt": (
        make_state(unmeasured=2),
        ((1, TWO | {"verdict": BEYOND}), (2, TWO | {"verdict": BEYOND})),
        [WATCH, WATCH],
    ),
    "a baseline pod without room takes the place of another": (
        make_state(control=ASKED),
        ((14, TWO | NO_ROOM), (15, TWO | NO_ROOM), (16, TWO | READY)),
        [WATCH, WATCH, WATCH],
    ),
    "an autoscaler's pods are compared with a plain one beside, be it one": (
        make_state(failures=2),
        ((1, SCALED | RECENT | {"verdict": SLOWER, "in_row": 3}), (2, SCALED | READY)),
        [WATCH, WATCH],
    ),
    "a baseline pod without room among an autoscaler's": (
        make_state(control=ASKED),
        ((15, SCALED | NO_ROOM), (59, SCALED | NO_ROOM), (60, SCALED | NO_ROOM)),
        [WATCH, WATCH, WATCH],
    ),
    "a baseline pod that never comes": (make_state(control=ASKED), ((1799, TWO), (1800, TWO)), [WATCH, WATCH]),
    "while a baseline pod serves, a baseline of another time convicts nobody": (
        make_state(control=UP, failures=2),
        ((1, TWO | {"verdict": SLOWER, "in_row": 3}),),
        [WATCH],
    ),
    "baseline pods all the time": (
        make_state(WARM),
        (
            (1, STAY),
            (4, STAY),
            (5, STAY | {"baseline_pods": BaselinePodsView(serving=2)}),
            (6, STAY | {"baseline_replicas": 3}),
            (7, {}),
        ),
        [WARM, WATCH, WATCH, WATCH, WATCH],
    ),
    "baseline pods are not wanted while it warms up": (
        make_state(WARM, control=RequestedBaselinePods(replicas=1, reason=ALWAYS, message="", at=0.0)),
        ((1, {}),),
        [WARM],
    ),
    "one pod in doubt serves plain for a while": (
        make_state(failures=2),
        ((1, ONE | RECENT | {"verdict": SLOWER, "in_row": 3}),),
        [RESPOND],
    ),
    "the baseline was slower": (on_trial(make_trial(*(0.03,) * 5)), ((1, BASELINE | ONE),), [OUT]),
    "the baseline was faster": (on_trial(make_trial(*(0.01,) * 5)), ((1, BASELINE | ONE),), [BACK]),
    "the traffic became another": (on_trial(make_trial(*(0.03,) * 5, answers=120)), ((1, BASELINE | ONE),), [BACK]),
    "nobody came while it served the baseline": (on_trial(make_trial(seen=15)), ((1, BASELINE | ONE),), [BACK]),
}
