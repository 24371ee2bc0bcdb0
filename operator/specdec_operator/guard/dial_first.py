"""What the guard does in running pods before it replaces them: it sets their dial to nothing, and sees what follows.

Now and then, for a second, the pods draft again: what these probes accept shows whether the traffic has changed back.
Docstrings of rules are lines of the documentation.
"""

import math
from dataclasses import replace
from functools import reduce
from typing import Final

from specdec_operator.api.guard import GuardMode
from specdec_operator.guard.decisions import Probe
from specdec_operator.guard.dial import probes_begun
from specdec_operator.guard.policy import Thresholds
from specdec_operator.guard.state import Observation, Phase, State
from specdec_operator.guard.tries import respond, tries_are_left
from specdec_operator.guard.verdict import Reason
from specdec_operator.guard.windows_in_a_row import is_fresh

_FEWEST: Final = 2
"""Probes without which nothing is concluded: one may be a mood of the traffic."""
_MOST: Final = 60


def no_dial_was_decided(state: State, observation: Observation, now: float) -> bool:
    """The status does not show why the dial is set: another client changed it."""
    return state.dial is None


def guard_only_observes(state: State, observation: Observation, now: float) -> bool:
    """The guard's mode is Observe."""
    return observation.policy.mode is GuardMode.OBSERVE


def dial_is_not_followed(state: State, observation: Observation, now: float) -> bool:
    """A pod was read not to follow for 20 s, or not to answer, or the operator has no permission to set its dial."""
    return bool(observation.dial_trouble) and observation.policy.acts


def fewer_tokens_are_not_followed(state: State, observation: Observation, now: float) -> bool:
    """The dial asks for fewer tokens, and a pod was read not to follow for 20 s, or not to answer, or the operator has
    no permission to set its dial.
    """
    waits = observation.by_hand or not observation.policy.acts
    return state.by_dial is not None and bool(observation.dial_trouble) and not waits


def acceptance_recovered(state: State, observation: Observation, now: float) -> bool:
    """The newest probes, two at least and of `minDraftTokens` tokens, reach the minimum, and a retry is left."""
    may = tries_are_left(state, observation.policy) and observation.policy.acts and not observation.by_hand
    return may and _passes(state, observation) is True


def failure_stands(state: State, observation: Observation, now: float) -> bool:
    """`dial.settle` has passed, and the newest probes stay below the minimum, or no retry is left. Without enough
    traffic to judge, or with the user's own setting, the dial stays.
    """
    dial, waits = state.dial, observation.by_hand or not observation.policy.acts
    if dial is None or waits or now - dial.at < observation.policy.settle:
        return False
    return _passes(state, observation) is False or not tries_are_left(state, observation.policy)


def probes_were_judged(state: State, observation: Observation, now: float) -> bool:
    """A window has closed."""
    return is_fresh(state, observation)


def begin_again(state: State, observation: Observation, now: float) -> State:
    """Watching, as the flags define."""
    return state.enter(Phase.WATCHING, now)


def dial_up(state: State, observation: Observation, now: float) -> State:
    """Watching, with the dial as before; one retry less."""
    return replace(state.enter(Phase.WATCHING, now), retries=state.retries + 1)


def give_way(state: State, observation: Observation, now: float) -> State:
    """Responding: the rollback that would have come without a dial."""
    return _roll_back(state, observation, f"the dial did not help: {observation.dial_trouble}", now)


def roll_fewer_tokens_out(state: State, observation: Observation, now: float) -> State:
    """Responding: the pods with fewer tokens in their flags that would have come without a dial."""
    if state.reduced is None:
        return state
    message = f"{state.reduced.message}; the dial did not help: {observation.dial_trouble}"
    return replace(state, reduced=replace(state.reduced, message=message)).enter(Phase.RESPONDING, now)


def roll_back(state: State, observation: Observation, now: float) -> State:
    """Responding: the rollback, because the failure did not pass with the traffic."""
    off = f"the dial was at nothing for {now - (state.dial.at if state.dial else now):.0f} s"
    return _roll_back(state, observation, f"{off}{_probed(state)}", now)


def note_probes(state: State, observation: Observation, now: float) -> State:
    """The window's probe is added, and the oldest that a judgement does not need are dropped."""
    after = replace(state, judged=math.floor(observation.closed))
    dial, probe, verdict = state.dial, observation.probe, observation.verdict
    of_dial = verdict is not None and verdict.reason is Reason.DIALLED  # any other window could not be read
    if dial is None or probe is None or not of_dial or probe.drafted <= 0 or observation.by_hand:
        return after
    number = probes_begun(dial.at, observation.policy.settle, observation.closed)
    if not number:  # drafted before the dial was followed
        return after
    probes = _added(dial.probes, replace(probe, number=number))
    return replace(after, dial=replace(dial, probes=_newest(probes, _fewest_tokens(observation))))


def _roll_back(state: State, observation: Observation, found: str, now: float) -> State:
    dial = state.dial
    return state if dial is None else respond(state, observation, dial.reason, f"{dial.message}; {found}", now)


def _fewest_tokens(observation: Observation) -> int:
    return observation.thresholds.min_draft_tokens if observation.thresholds else 1


def _added(probes: tuple[Probe, ...], probe: Probe) -> tuple[Probe, ...]:
    """With one more. One that two windows share stays one."""
    if probes and probes[-1].number == probe.number:
        return (*probes[:-1], probes[-1].plus(probe))
    return (*probes, probe)


def _newest(probes: tuple[Probe, ...], tokens: int) -> tuple[Probe, ...]:
    """The newest probes that are enough together."""
    for first in range(len(probes) - _FEWEST, -1, -1):
        if sum(each.drafted for each in probes[first:]) >= tokens:
            return probes[first:]
    return probes if len(probes) <= _MOST else (probes[0].plus(probes[1]), *probes[2:])


def _passes(state: State, observation: Observation) -> bool | None:
    """Whether the probes reach the minimum; None while they are too few."""
    probes, limits = state.dial.probes if state.dial else (), observation.thresholds
    found = _sum(probes)
    if limits is None or len(probes) < _FEWEST or found.drafted < limits.min_draft_tokens:
        return None
    return _reaches(found, limits)


def _sum(probes: tuple[Probe, ...]) -> Probe:
    return reduce(Probe.plus, probes, Probe())


def _reaches(probe: Probe, limits: Thresholds) -> bool:
    rate, length = limits.acceptance_rate, limits.acceptance_length
    by_rate = rate is None or probe.accepted >= rate * probe.drafted
    return by_rate and (length is None or probe.accepted >= (length - 1) * probe.drafts)


def _probed(state: State) -> str:
    """What the probes accepted, as text; empty without any."""
    found = _sum(state.dial.probes if state.dial else ())
    if found.drafted <= 0:
        return ""
    return f"; its probes accepted {found.accepted / found.drafted:.2f} of {found.drafted:.0f} drafted tokens"
