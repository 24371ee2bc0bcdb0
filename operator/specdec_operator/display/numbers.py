"""The numbers of a service, ready to be set in tables: thresholds, fewer tokens, speed by load, history. Pure."""

import math
from dataclasses import dataclass
from typing import Final

from specdec_operator.display.describe import joined, tokens_in_force
from specdec_operator.display.untrusted import Untrusted

STATE_TONES: Final = {
    "Watching": "good",
    "Serving": "good",
    "Dialled": "warn",
    "RolledBack": "warn",
    "Responding": "warn",
    "Stalled": "bad",
}
"""How good a phase or a state of the guard is; the others are on their way."""


def number(value: Untrusted, digits: int = 2) -> str:
    """A number in a table; a hyphen where there is none."""
    return "-" if value.number is None else f"{value.number:.{digits}f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """A number beside what is asked of it. least: whether it must not be below, else not above."""

    name: str
    measured: Untrusted
    wanted: Untrusted
    least: bool = True
    digits: int = 2

    @property
    def missed(self) -> bool:
        """Whether the number alone is on the wrong side; the verdict knows about chance."""
        measured, wanted = self.measured.number, self.wanted.number
        if measured is None or wanted is None:
            return False
        return measured < wanted if self.least else measured > wanted

    @property
    def note(self) -> str:
        """On which wrong side it is; empty where it is on none."""
        return ("below" if self.least else "above") if self.missed else ""

    def limit(self, least: str, most: str) -> str:
        """What is requested, with the signs for at least and at most; empty where nothing is."""
        sign = least if self.least else most
        return "" if self.wanted.number is None else f"{sign} {number(self.wanted, self.digits)}"


def thresholds(status: Untrusted) -> tuple[Threshold, ...]:
    """What the last measured window showed beside what is asked of it; only what is measured or requested."""
    wanted, acceptance = status.of("guard", "thresholds"), status.of("acceptance")
    performance, time = status.of("performance"), "timePerOutputTokenMs"
    rows = (
        Threshold(name="Acceptance rate", measured=acceptance.of("rate"), wanted=wanted.of("acceptanceRate")),
        Threshold(name="Acceptance length", measured=acceptance.of("length"), wanted=wanted.of("acceptanceLength")),
        Threshold(name="Speedup", measured=performance.of("speedup"), wanted=wanted.of("speedup")),
        Threshold(
            name="ms per output token", measured=performance.of(time), wanted=wanted.of(time), least=False, digits=1
        ),
        Threshold(
            name="Drafted tokens", measured=acceptance.of("draftTokens"), wanted=wanted.of("minDraftTokens"), digits=0
        ),
    )
    return tuple(each for each in rows if each.measured.number is not None or each.wanted.number is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class FewerTokens:
    """A smaller K: rate, length and speedup as they would have been. marks: what is special about it."""

    tokens: str
    numbers: tuple[str, ...]
    passes: bool | None
    marks: tuple[str, ...]

    @property
    def outcome(self) -> str:
        """The verdict on it, in a word."""
        return "unsure" if self.passes is None else "passes" if self.passes else "fails"


def fewer_tokens(service: Untrusted) -> tuple[FewerTokens, ...]:
    """What fewer tokens per step would have done in the same window."""
    rows = [each for each in service.of("status", "guard", "fewerTokens").items if each.of("tokens").whole is not None]
    return tuple(
        FewerTokens(
            tokens=row.of("tokens").text,
            numbers=(_between(row), *(number(row.of(name)) for name in ("length", "speedup"))),
            passes=None if row.of("passes").value is None else row.of("passes").flag,
            marks=_marks(row.of("tokens").whole, service),
        )
        for row in rows
    )


def _between(row: Untrusted) -> str:
    """The rate; from where to where, if the lengths of the drafts leave it open."""
    high = row.of("rateHigh")
    return f"{number(row.of('rate'))} to {number(high)}" if high.number is not None else number(row.of("rate"))


def _marks(tokens: int | None, service: Untrusted) -> tuple[str, ...]:
    known = {
        "in use": tokens_in_force(service.of("status")),
        "requested": service.of("spec", "speculation", "tokens"),
    }
    advice = service.of("status", "guard", "recommendation")
    if not advice.of("tokensByBatchSize").items:  # with rows, tokens is the K that runs
        known["recommended"] = advice.of("tokens")
    return tuple(mark for mark, each in known.items() if tokens == each.whole)


def loads(status: Untrusted, performance: Untrusted, about: str = "±") -> tuple[tuple[str, ...], ...]:
    """The baseline by load, the smallest first: load, ms per token, tokens/s, requests, and the ms of the newest window
    if it was at this load. about: the sign between a number and its error.
    """
    rows = [each for each in status.of("guard", "baseline").items if each.of("load").whole is not None]
    rows.sort(key=lambda each: each.of("load").whole or 0)
    return tuple(_load(each, performance, about) for each in rows)


def _load(row: Untrusted, performance: Untrusted, about: str) -> tuple[str, ...]:
    here, error = row.of("load").whole == performance.of("load").whole, row.of("errorMs").number
    per_token = number(row.of("timePerOutputTokenMs"), 1) + (f" {about} {error:.1f}" if error is not None else "")
    now = number(performance.of("timePerOutputTokenMs"), 1) if here else ""
    return row.of("load").text, per_token, number(row.of("tokensPerSecond"), 0), number(row.of("requests"), 0), now


def speed(performance: Untrusted) -> str:
    """The speed of the last measured window in a sentence."""
    high, low, dips = (performance.of(name) for name in ("gainHigh", "gainLow", "dips"))
    between = f"at most {number(high)}" if low.number is None else f"{number(low)} to {number(high)}"
    gain = "" if high.number is None else f"; gain in the engine {between} ({dips.text} dips)"
    return (
        f"{number(performance.of('timePerOutputTokenMs'), 1)} ms per output token; "
        f"{number(performance.of('tokensPerSecond'), 0)} tokens/s over all pods; "
        f"{number(performance.of('requests'), 0)} requests ended, most at load {performance.of('load').text or '?'}"
        f"{gain}"
    )


def interval(performance: Untrusted) -> str:
    """The 95 % interval of the speedup; empty where it is not known."""
    low, high = performance.of("speedupLow").number, performance.of("speedupHigh").number
    return f"{low:.2f} to {high:.2f}" if low is not None and high is not None else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedMeasure:
    """The result of both arms for one measure. evidence: score and bound. `convicts`: whether the bound is reached."""

    measure: str
    value: str
    interval: str
    limit: str
    evidence: str
    windows: str
    convicts: bool


def compared(status: Untrusted) -> tuple[ComparedMeasure, ...]:
    """The result so far of the windows with baseline pods."""
    rows = [each for each in status.of("guard", "findings").items if each.of("measure").text]
    return tuple(
        ComparedMeasure(
            measure=each.of("measure").text,
            value=number(each.of("value")),
            interval=f"{number(each.of('low'))} to {number(each.of('high'))}",
            limit=number(each.of("limit")),
            evidence=f"{number(each.of('score'), 1)} of {number(each.of('bound'), 1)}",
            windows=each.of("windows").text,
            convicts=(each.of("score").number or 0.0) >= (each.of("bound").number or math.inf),
        )
        for each in rows
    )


def window_size(acceptance: Untrusted) -> str:
    """How long the measured window was, and over how many pods."""
    seconds, pods = acceptance.of("windowSeconds").whole, acceptance.of("pods").whole
    over = "" if pods is None else f"{pods} pod{'' if pods == 1 else 's'}"
    return joined(", ", "" if seconds is None else f"{seconds} s", over)


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRow:
    """A state of the guard and why it began. message: empty where it is that of the row before."""

    at: Untrusted
    state: str
    reason: str
    message: str
    rate: float | None


def history(status: Untrusted) -> tuple[HistoryRow, ...]:
    """The states of the guard, the newest first."""
    entries = [each for each in status.of("history").items if each.there]
    messages = ["", *(each.of("message").text for each in entries)]
    return tuple(
        HistoryRow(
            at=entry.of("at"),
            state=entry.of("state").text,
            reason=entry.of("reason").text,
            message="" if entry.of("message").text == before else entry.of("message").text,
            rate=entry.of("rate").number,
        )
        for entry, before in zip(entries, messages, strict=False)
    )
