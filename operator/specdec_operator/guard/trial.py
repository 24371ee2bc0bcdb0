"""A service of one pod has no second arm. It runs as baseline for a few windows instead, and these windows are compared
with those before. Speculation comes back if the traffic is comparable and speculation was not significantly slower.

Both times are comparable only if the traffic is the same: as many requests, of about the same lengths. Clients that
send the next request after each answer send more of them to the faster of the two. So the number of requests is the
same if as many come per second, or as many run at once.
"""

from collections.abc import Sequence
from dataclasses import astuple, dataclass, field, replace
from enum import StrEnum
from math import log, sqrt
from statistics import fmean
from typing import Annotated, Final

from specdec_operator.api.kept import Form, means
from specdec_operator.guard.baseline import FEWEST_REQUESTS, Comparison, comparison_of
from specdec_operator.guard.statistics import Estimate, variance_of_means
from specdec_operator.guard.window import Evidence

MOST_TRAFFIC: Final = 5
"""Windows of each side that are compared."""
FEWEST_TRAFFIC: Final = 3
"""Windows with speculation without which there is nothing to compare with."""
_MOST_WINDOWS: Final = 15
"""Windows after which the trial ends: without traffic, the baseline is never known."""
_MOST_REQUESTS: Final = log(1.5)
_MOST_TOKENS: Final = log(1.25)
"""By how much the requests per second or at once, and the tokens per prompt and per answer, may differ: in simulated
traffic these move the time per output token by a few percent."""
_LEAST_SCATTER: Final = 0.02
_ALIKE: Final = 5 / 13
"""Correlation of neighbouring windows: five are too few to learn it. It makes the interval wider by half."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """One window: seconds of it; requests that ended, the seconds that they decoded for, and tokens that they wrote
    after their first; requests that began, tokens of their prompts, and seconds until their first tokens (None: not
    known).
    """

    seconds: float
    requests: float
    token_seconds: float
    tokens: float
    answers: float
    prompt_tokens: float | None = None
    first_token_seconds: float | None = None

    @property
    def known(self) -> bool:
        """Whether enough requests ended to know its speed."""
        return self.requests >= FEWEST_REQUESTS and self.tokens > 0 and self.token_seconds > 0

    @property
    def busy_seconds(self) -> float:
        """Seconds that the engine had requests for, summed over them: until the first token, if known, and after it."""
        return self.token_seconds + (self.first_token_seconds or 0.0)


def traffic_of(evidence: Evidence) -> Traffic:
    """The traffic of a window."""
    seen = evidence.token_time
    return Traffic(
        seconds=evidence.seconds,
        requests=seen.requests,
        token_seconds=seen.times.total,
        tokens=seen.times.of,
        answers=evidence.answers,
        prompt_tokens=evidence.side.prompt_tokens,
        first_token_seconds=evidence.side.first_token_seconds,
    )


_UNKNOWN: Final = -1.0
"""In the status: the API server takes no null in a list."""


def _read(kept: list[float]) -> Traffic:
    """Earlier releases kept fewer values of a window, later ones may keep more."""
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


def _written(traffic: Traffic) -> list[float]:
    return [_UNKNOWN if each is None else each for each in astuple(traffic)]


_Window = Annotated[Traffic, Form(_read, _written, list[float])]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """Windows with speculation, and the baseline windows after them, oldest first."""

    speculating: tuple[_Window, ...] = field(
        metadata=means(
            "For the operator: for each window its seconds, ended requests, their decode seconds, their tokens after "
            "the first, started requests, their prompt tokens, and their seconds until the first token (-1: unknown)."
        )
    )
    plain: tuple[_Window, ...] = field(default=(), metadata=means("The same values of the baseline windows."))
    least: float = field(metadata=means("Required speedup."))
    seen: int = field(default=0, metadata=means("Number of baseline windows so far."))

    def plus(self, traffic: Traffic) -> "Trial":
        """With one more baseline window."""
        baseline = (*self.plain, traffic)[-MOST_TRAFFIC:] if traffic.known else self.plain
        return replace(self, plain=baseline, seen=self.seen + 1)


class TrialOutcome(StrEnum):
    """What a trial shows about speculation."""

    OPEN = "open"
    NOT_SLOWER = "not slower"
    """Speculation: not beyond chance."""
    SLOWER = "slower"
    UNLIKE = "unlike"
    """The traffic became another: the two times cannot be compared."""
    QUIET = "quiet"


def outcome_of(trial: Trial) -> TrialOutcome:
    """What the trial shows so far. If chance can explain a slower speculation, it comes back, as the user requests."""
    if len(trial.plain) < MOST_TRAFFIC:
        return TrialOutcome.QUIET if trial.seen >= _MOST_WINDOWS else TrialOutcome.OPEN
    if differs(trial):
        return TrialOutcome.UNLIKE
    return TrialOutcome.SLOWER if compared(trial).high < trial.least else TrialOutcome.NOT_SLOWER


def compared(trial: Trial) -> Comparison:
    """The baseline windows compared with those before, by the scatter of the windows about the mean of their side. The
    interval is at least as wide as for windows that scatter by 2 %.
    """
    sides = [[log(each.token_seconds / each.tokens) for each in side] for side in _sides(trial)]
    misses = sum((value - fmean(side)) ** 2 for side in sides for value in side)
    degrees = sum(map(len, sides)) - 2
    variance = variance_of_means(max(misses / degrees, _LEAST_SCATTER**2), map(len, sides), _ALIKE)
    baseline, ours = _token_time(trial.plain), _token_time(trial.speculating)
    ratio = Estimate(mean=log(baseline / ours), error=sqrt(variance), degrees=degrees)
    return comparison_of(ratio, baseline=baseline, seconds=ours)


def _token_time(windows: Sequence[Traffic]) -> float:
    return sum(each.token_seconds for each in windows) / sum(each.tokens for each in windows)


def differs(trial: Trial) -> str:
    """The change of the traffic, with numbers; empty if nothing changed.

    More or fewer requests per second are a change only if more or fewer of them run at once too: clients that wait for
    each answer keep the number that runs, and their requests per second follow the speed. More per second with fewer at
    once are what a faster engine shows.
    """
    per_second = _change(trial, "answers", "seconds", "requests per second", _MOST_REQUESTS)
    at_once = _change(trial, "busy_seconds", "seconds", "requests at once", _MOST_REQUESTS)
    if per_second and at_once and _grew(trial, "answers") is _grew(trial, "busy_seconds"):
        return f"{per_second}; {at_once}"
    return _change(trial, "prompt_tokens", "answers", "tokens per prompt", _MOST_TOKENS) or _change(
        trial, "tokens", "requests", "tokens per answer", _MOST_TOKENS
    )


def _change(trial: Trial, what: str, of: str, name: str, most: float) -> str:
    """Both means as text; empty if their ratio is within `most`, a logarithm, or one of them is unknown."""
    before, after = (_mean(side, what, of) for side in _sides(trial))
    if before and after and abs(log(after / before)) > most:
        return f"{after:.2f} {name}, {before:.2f} before"
    return ""


def _grew(trial: Trial, what: str) -> bool:
    """Whether there is more of it per second than before."""
    before, after = (_mean(side, what, "seconds") or 0.0 for side in _sides(trial))
    return after > before


def _sides(trial: Trial) -> tuple[tuple[Traffic, ...], tuple[Traffic, ...]]:
    return trial.speculating, trial.plain


def _mean(windows: Sequence[Traffic], what: str, of: str) -> float | None:
    """Sum of one field / sum of another, over the windows that know both."""
    known = [(getattr(each, what), getattr(each, of)) for each in windows if getattr(each, what) is not None]
    below = fmean(each for _, each in known) if known else 0.0
    return fmean(each for each, _ in known) / below if below else None


def trial_text(trial: Trial) -> str:
    """Both times as text."""
    found, windows = compared(trial), (len(trial.plain), len(trial.speculating))
    return (
        f"the baseline took {1000 * found.baseline:.1f} ms per output token over {windows[0]} windows, "
        f"speculation took {1000 * found.seconds:.1f} ms over {windows[1]} windows before: speedup {found.speedup:.2f} "
        f"(95 % interval {found.low:.2f} to {found.high:.2f}), required {trial.least:.2f}"
    )
