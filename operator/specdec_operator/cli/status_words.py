"""What a sis says of itself, in short sentences: what is asked for, what is served, since when. Pure."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from specdec_operator import names
from specdec_operator.cli.found import Found

PATIENCE: Final = timedelta(seconds=30)
"""A running operator writes a first status within this time."""


NO_OPERATOR: Final = (
    "Is specdec-operator running, and does it watch this namespace? See: kubectl get pods -n specdec-system"
)
"""The way out where nobody takes note."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Glyphs:
    """Signs for bars and sparklines. steps: from the lowest to the highest."""

    bar: str
    steps: str
    least: str
    most: str
    about: str


UNICODE: Final = Glyphs(bar="█", steps="▁▂▃▄▅▆▇█", least="≥", most="≤", about="±")
ASCII: Final = Glyphs(bar="#", steps="0123456789", least=">=", most="<=", about="+-")


def glyphs_for(encoding: str) -> Glyphs:
    """The signs that an output of this encoding can show."""
    return UNICODE if encoding.lower().replace("-", "").startswith("utf") else ASCII


def span(seconds: float) -> str:
    """A length of time in its two largest units: 45s, 12m, 3h5m, 2d4h."""
    for size, unit, smaller, small in ((86400, "d", 3600, "h"), (3600, "h", 60, "m")):
        if seconds >= size:
            more = int(seconds % size // smaller)
            return f"{int(seconds // size)}{unit}" + (f"{more}{small}" if more else "")
    return f"{int(seconds // 60)}m" if seconds >= 60 else f"{max(0, int(seconds))}s"


def ago(at: Found, now: datetime) -> str:
    """How long ago a time was, or how far it is away; empty where there is none."""
    if (time := at.time) is None:
        return ""
    seconds = (now - time).total_seconds()
    return f"{span(seconds)} ago" if seconds >= -1 else f"in {span(-seconds)}"


def because(decision: Found, now: datetime) -> str:
    """Why something was decided and when: `AcceptanceRateLow 12m ago: acceptance 0.02 < 0.40 …`."""
    head = " ".join(filter(None, (decision.of("reason").text, ago(decision.of("at"), now))))
    return ": ".join(filter(None, (head, decision.of("message").text)))


def asked(sis: Found) -> str:
    """The speculation that the spec asks for."""
    return speculation(sis.of("spec", "speculation"))


def speculation(block: Found) -> str:
    """A speculation block in words."""
    if not block.there:
        return "no speculation"
    parts = [block.of("method").text or "some method", per_step(block.of("tokens"))]
    parts.append(_draft(block.of("draft").of("uri").text, block.of("draft").of("path").text))
    if block.of("tokensByBatchSize").items:
        parts.append("fewer by load")
    return ", ".join(filter(None, parts))


def _draft(uri: str, path: str) -> str:
    if not uri:
        return f"draft {path} in the target's artifact" if path else ""
    return f"draft {path} in {uri}" if path else f"draft {uri}"


def per_step(tokens: Found) -> str:
    """K in words."""
    number = tokens.whole
    return "" if number is None else f"{number} token{'' if number == 1 else 's'} per step"


def served(sis: Found) -> str:
    """What the pods are asked to serve, where that is known."""
    serving, guard = sis.of("status", "serving"), sis.of("status", "guard")
    if not serving.there:
        return "nothing yet"
    revision = serving.of("revision").text
    behind = f" (revision {revision})" if revision else ""
    if not serving.of("speculating").flag:
        return f"no speculation{behind}"
    good = guard.of("rollback", "good")
    if good.there:
        return f"{good_words(good)}{behind}"
    asks = sis.of("spec", "speculation")
    fields = [(serving.of(name).text, asks.of(name).text) for name in ("method", "tokens")]
    if all(is_served == is_asked or not is_asked for is_served, is_asked in fields):
        return f"as asked{behind}"
    return f"{', '.join(filter(None, (serving.of('method').text, per_step(serving.of('tokens')))))}{behind}"


def good_words(good: Found) -> str:
    """A speculation that once passed."""
    try:
        block = Found(json.loads(good.of("block").text))
    except ValueError:
        block = Found()
    words = speculation(block) if block.there else per_step(good.of("tokens")) or "a speculation"
    rate = good.of("rate").number
    return words + (f", acceptance {rate:.2f}" if rate is not None else "")


def looked_at(sis: Found) -> bool:
    """Whether an operator has written the status: before that it is empty, or has the CRD's default of -1."""
    return sis.of("status").there and (sis.of("status", "observedGeneration").whole or 0) >= 0


def orphaned(sis: Found, now: datetime) -> bool:
    """Whether no operator has looked at it for longer than a running one would take."""
    made = sis.of("metadata", "creationTimestamp").time
    return not looked_at(sis) and made is not None and now - made > PATIENCE


def unseen(sis: Found) -> str:
    """Why the status is not about this spec; empty where it is."""
    generation = sis.of("metadata", "generation").whole
    observed = sis.of("status", "observedGeneration").whole
    if not looked_at(sis):
        return "the operator has not looked at it yet"
    if generation is None or observed is None or observed >= generation:
        return ""
    return f"the operator has not looked at generation {generation} yet; this is about generation {observed}"


def held(sis: Found, now: datetime) -> str:
    """Since when the guard is asked to change nothing; empty where it is not."""
    since = sis.of("metadata", "annotations", names.HOLD_ANNOTATION)
    if not since.text:
        return ""
    time, _, why = since.text.partition(" ")
    return ": ".join(filter(None, (ago(Found(time), now), why or ("" if Found(time).time else since.text)))) or "yes"


def line(sis: Found, now: datetime) -> str:
    """Everything in one line, for a pipe: time, phase, reason, what is served, the numbers, the message."""
    return " ".join(filter(None, (now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), line_without_time(sis, now))))


def line_without_time(sis: Found, now: datetime) -> str:
    """What `line` says; equal while nothing has changed."""
    status = sis.of("status")
    if not status.there:
        return "no status: the operator has not looked at it yet"
    guard, serving = status.of("guard"), status.of("serving")
    numbers = (("accept", status.of("acceptance", "rate")), ("speedup", status.of("performance", "speedup")))
    parts = [status.of("phase").text or "?", status.of("reason").text, serving.of("method").text]
    parts += [f"K={serving.of('tokens').text}"] if serving.of("tokens").text else []
    parts += [f"{name}={number.number:.2f}" for name, number in numbers if number.number is not None]
    parts += [f"verdict={guard.of('verdict').text}"] if guard.of("verdict").text else []
    parts += [f"failures={guard.of('failures').whole}"] if guard.of("failures").whole else []
    parts += ["held"] if held(sis, now) else []
    return " ".join(filter(None, parts)) + (f": {status.of('message').text}" if status.of("message").text else "")
