"""Reads a recording of pods' /metrics: JSON lines, plain or gzipped, each one scrape of one pod."""

import gzip
import json
import pathlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from specdec_operator.errors import Invalid
from specdec_operator.guard.counters import Counters, read_counters

_GZIP = b"\x1f\x8b"
_LINE = 'each line is one scrape, such as {"t": 12.0, "pod": "pod-0", "ok": true, "text": "<a page of metrics>"}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One look at all pods: when, in seconds of the recording, and what each showed; None: it did not answer."""

    at: float
    readings: dict[str, Counters | None] = field(default_factory=dict)


def read_recording(path: pathlib.Path) -> tuple[Round, ...]:
    """The rounds of a recording. Raises Invalid for a file that is none, with the line."""
    try:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if raw[:2] == _GZIP else raw).decode()
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise Invalid(str(path), "unreadable", f"{error}; {_LINE}") from error
    scrapes = [_scrape(path, number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    if not scrapes:
        raise Invalid(str(path), "empty", _LINE)
    return tuple(rounds(sorted(scrapes, key=lambda each: each[0])))


def rounds(scrapes: Iterable[tuple[float, str, Counters | None]]) -> Iterator[Round]:
    """Scrapes in order of time, as rounds: a pod that is seen again begins another one."""
    at, readings = 0.0, dict[str, Counters | None]()
    for moment, pod, reading in scrapes:
        if pod in readings:
            yield Round(at=at, readings=readings)
            readings = {}
        at, readings[pod] = moment, reading
    if readings:
        yield Round(at=at, readings=readings)


def _scrape(path: pathlib.Path, number: int, line: str) -> tuple[float, str, Counters | None]:
    try:
        said = json.loads(line)
        at, pod, page = float(said["t"]), str(said["pod"]), said["text"] if said["ok"] else None
    except (ValueError, TypeError, KeyError) as error:
        raise Invalid(f"{path}:{number}", line[:60], _LINE) from error
    try:
        return at, pod, None if page is None else read_counters(page)
    except ValueError:  # the operator takes a page that makes no sense for no answer
        return at, pod, None
