"""A service in short sentences: the requested speculation, what is served, since when, and why. Pure."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from specdec_operator import names
from specdec_operator.display.untrusted import Untrusted

_PATIENCE: Final = timedelta(seconds=30)
"""A running operator writes a first status within this time."""

NO_OPERATOR: Final = "Check that specdec-operator runs and watches this namespace: kubectl get pods -n specdec-system"
"""The way out where no operator answers."""


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


def ago(at: Untrusted, now: datetime) -> str:
    """How long ago a time was, or how far it is away; empty where there is none."""
    if (time := at.time) is None:
        return ""
    seconds = (now - time).total_seconds()
    return f"{span(seconds)} ago" if seconds >= -1 else f"in {span(-seconds)}"


def joined(by: str, *parts: str) -> str:
    """The parts that are not empty, with `by` between them."""
    return by.join(filter(None, parts))


def listed(names: Sequence[str], most: int) -> str:
    """Names in a row: the first so many, and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def because(decision: Untrusted, now: datetime) -> str:
    """Why something was decided and when: `AcceptanceRateLow 12m ago: acceptance 0.02 < 0.40 …`."""
    head = joined(" ", decision.of("reason").text, ago(decision.of("at"), now))
    return joined(": ", head, decision.of("message").text)


def requested(service: Untrusted) -> str:
    """The speculation that the spec asks for."""
    return _speculation(service.of("spec", "speculation"))


def _speculation(block: Untrusted) -> str:
    if not block.there:
        return "no speculation"
    uri, path = block.of("draft", "uri").text, block.of("draft", "path").text
    place = joined(" in ", path, uri or "the target's artifact" if path else uri)
    by_load = "fewer by load" if block.of("tokensByBatchSize").items else ""
    method = block.of("method").text or "some method"
    return joined(", ", method, per_step(block.of("tokens")), f"draft {place}" if place else "", by_load)


def per_step(tokens: Untrusted) -> str:
    """K in a sentence."""
    number = tokens.whole
    return "" if number is None else f"{number} token{'' if number == 1 else 's'} per step"


def serving(service: Untrusted) -> str:
    """What the pods are to serve, if known."""
    block = service.of("status", "serving")
    if not block.there:
        return "nothing yet"
    revision = block.of("revision").text
    return _served(service, block) + (f" (revision {revision})" if revision else "")


def _served(service: Untrusted, block: Untrusted) -> str:
    if not block.of("speculating").flag:
        return "no speculation"
    if (good := service.of("status", "guard", "rollback", "good")).there:
        return known_good(good)
    spec = service.of("spec", "speculation")
    status = service.of("status")
    used = {"method": block.of("method").text, "tokens": tokens_in_force(status).text}
    if all(spec.of(name).text in ("", each) for name, each in used.items()):
        return "as asked"
    return method_and_tokens(status)


def method_and_tokens(status: Untrusted) -> str:
    """What the pods draft, in short."""
    return joined(", ", status.of("serving", "method").text, per_step(tokens_in_force(status)))


def tokens_in_force(status: Untrusted) -> Untrusted:
    """K that the pods draft: what all of them report while the dial is set (not there if they differ, or one does not
    report it), else that of their flags.
    """
    drafted, dialled = status.of("serving", "drafted"), status.of("dial", "tokens").whole is not None
    return drafted if drafted.whole is not None or dialled else status.of("serving", "tokens")


def known_good(good: Untrusted) -> str:
    """A speculation that once passed."""
    try:
        block = Untrusted(json.loads(good.of("block").text))
    except ValueError:
        block = Untrusted()
    name = _speculation(block) if block.there else per_step(good.of("tokens")) or "a speculation"
    rate = good.of("rate").number
    return name + (f", acceptance {rate:.2f}" if rate is not None else "")


def is_observed(service: Untrusted) -> bool:
    """Whether an operator has written the status: before that it is empty, or has the CRD's default of -1."""
    return service.of("status").there and (service.of("status", "observedGeneration").whole or 0) >= 0


def orphaned(service: Untrusted, now: datetime) -> bool:
    """Whether no operator has looked at it for longer than a running one would take."""
    made = service.of("metadata", "creationTimestamp").time
    return not is_observed(service) and made is not None and now - made > _PATIENCE


def not_observed(service: Untrusted) -> str:
    """Why the status is not about this spec; empty where it is."""
    generation = service.of("metadata", "generation").whole
    observed = service.of("status", "observedGeneration").whole
    if not is_observed(service):
        return "the operator has not handled it yet"
    if generation is None or observed is None or observed >= generation:
        return ""
    return f"the operator has not handled generation {generation} yet; this is the status of generation {observed}"


def held_since(service: Untrusted, now: datetime) -> str:
    """Since when the guard is asked to change nothing; empty where it is not."""
    since = service.of("metadata", "annotations", names.HOLD_ANNOTATION)
    if not since.text:
        return ""
    time, _, why = since.text.partition(" ")
    when = ago(Untrusted(time), now)
    return joined(": ", when, why or ("" if when else since.text)) or "yes"


def line(service: Untrusted, now: datetime) -> str:
    """Everything in one line, for a pipe: time, phase, reason, what is served, the numbers, the message."""
    return f"{now.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ} {line_without_time(service, now)}"


def line_without_time(service: Untrusted, now: datetime) -> str:
    """The text of `line`; equal while nothing has changed."""
    status = service.of("status")
    if not status.there:
        return "no status: the operator has not handled it yet"
    guard, serving = status.of("guard"), status.of("serving")
    rate, speedup = status.of("acceptance", "rate").number, status.of("performance", "speedup").number
    values = {
        "K": tokens_in_force(status).text,
        "accept": "" if rate is None else f"{rate:.2f}",
        "speedup": "" if speedup is None else f"{speedup:.2f}",
        "verdict": guard.of("verdict").text,
        "failures": guard.of("failures").whole,
    }
    parts = [status.of("phase").text or "?", status.of("reason").text, serving.of("method").text]
    parts += [f"{name}={value}" for name, value in values.items() if value]
    parts += ["held"] if held_since(service, now) else []
    return joined(": ", joined(" ", *parts), status.of("message").text)
