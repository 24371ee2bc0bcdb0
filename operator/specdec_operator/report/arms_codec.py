"""What the guard keeps of two arms in status.guard, and back."""

from collections.abc import Iterable
from dataclasses import asdict, astuple
from typing import Any

from specdec_operator.api.times import from_time, to_time
from specdec_operator.guard.arms import Measure, Pair
from specdec_operator.guard.state import Control, State
from specdec_operator.guard.switch_back import Traffic, Trial
from specdec_operator.schema import comparison_status as api
from specdec_operator.schema.guard_status import GuardStatus

_MEASURES = frozenset(Measure)
_UNKNOWN = -1.0


def decoded(kept: GuardStatus) -> dict[str, Any]:
    """The fields of the state that are about two arms."""
    return {
        "control": _control(kept.control) if kept.control else None,
        "pairs": tuple(map(_pair, kept.pairs or ())),
        "collateral": tuple(Measure(each) for each in kept.collateral or () if each in _MEASURES),
    }


def encoded(state: State) -> dict[str, Any]:
    """The same fields as the status has them."""
    return {
        "control": _written_control(state.control) if state.control else None,
        "pairs": [_written_pair(each) for each in state.pairs] or None,
        "collateral": [each.value for each in state.collateral] or None,
    }


def _control(kept: api.Control) -> Control:
    times = {"at": from_time(kept.at), "up": from_time(kept.up) if kept.up else 0.0}
    return Control(**(kept.model_dump() | times))


def _written_control(control: Control) -> dict[str, Any]:
    return asdict(control) | {"at": to_time(control.at), "up": to_time(control.up) if control.up else None}


def _pair(kept: api.Pair) -> Pair:
    share, prompts, answers = kept.unlike
    return Pair(
        at=from_time(kept.at),
        seen={Measure(name): (each[0], each[1]) for name, each in kept.seen.items() if name in _MEASURES},
        unlike=(share, prompts, answers),
        plain=round(kept.plain_ms / 1000, 6),
        seconds=round(kept.speculating_ms / 1000, 6),
        pods=(kept.pods[0], kept.pods[1]),
    )


def _written_pair(pair: Pair) -> dict[str, Any]:
    return {
        "at": to_time(pair.at),
        "seen": {measure.value: _short(each) for measure, each in pair.seen.items()},
        "unlike": _short(pair.unlike),
        "plain_ms": round(1000 * pair.plain, 3),
        "speculating_ms": round(1000 * pair.seconds, 3),
        "pods": list(pair.pods),
    }


def _short(values: Iterable[float]) -> list[float]:
    return [round(each, 4) for each in values]


def trial_of(kept: api.Trial) -> Trial:
    """A trial as it was kept. Raises ValueError for windows that are none."""
    return Trial(
        speculating=tuple(map(_traffic, kept.speculating)),
        plain=tuple(map(_traffic, kept.plain)),
        least=kept.least,
        seen=kept.seen,
    )


def _traffic(kept: list[float]) -> Traffic:
    seconds, requests, token_seconds, tokens, answers, *known = kept
    prompt_tokens, first_token_seconds = (None if each < 0 else each for each in (*known, _UNKNOWN)[:2])
    return Traffic(
        seconds=seconds,
        requests=requests,
        token_seconds=token_seconds,
        tokens=tokens,
        answers=answers,
        prompt_tokens=prompt_tokens,
        first_token_seconds=first_token_seconds,
    )


def _written_traffic(traffic: Traffic) -> list[float]:
    """The API server takes no null in a list: -1 stands for what is not known."""
    return [_UNKNOWN if each is None else each for each in astuple(traffic)]


def written_trial(trial: Trial) -> dict[str, Any]:
    """A trial as the status has it."""
    windows = {name: [_written_traffic(each) for each in getattr(trial, name)] for name in ("speculating", "plain")}
    return {"least": trial.least, "seen": trial.seen, **windows}
