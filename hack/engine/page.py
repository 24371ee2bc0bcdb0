"""The tables of docs/engine.md, out of what the runs left in docs/engine/."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from hack.engine.faults import ALL, Layer
from hack.guard_page import MARKS

FOLDER: Final = Path(__file__).parents[2] / "docs" / "engine"
_LONG: Final = 240
"""Characters of an engine's error: one of them lists every model that it knows."""
_Found = Mapping[str, Any]


def page(text: str, folder: Path = FOLDER) -> str:
    """docs/engine.md with its tables as the last runs left them. Raises ValueError where marks are missing."""
    parts = {"methods": methods, "elsewhere": elsewhere, "faults": faults, "bench": bench, "image": image}
    for name, make in parts.items():
        begin, end = (mark.format(name) for mark in MARKS)
        first, last = text.index(begin) + len(begin), text.index(end)
        source = folder / f"{'methods' if name == 'elsewhere' else name}.json"
        text = f"{text[:first]}\n{make(json.loads(source.read_text(encoding='utf-8')))}{text[last:]}"
    return text


def methods(found: _Found) -> str:
    """Each method that ran: what was accepted, and whether the answers are the plain engine's."""
    lines = [
        "| method | drafts | accepted on code | accepted on drift | answers equal to plain |",
        "|---|---|---|---|---|",
    ]
    for name, each in found["runs"].items():
        if "compared" in each:
            equal, drafts = f"{each['identical']} of {each['compared']}", f"{each['code']['drafts']:.0f}"
            rates = " | ".join(_share(each[kind]["acceptance"]) for kind in ("code", "drift"))
            lines.append(f"| {name} | {drafts} | {rates} | {equal} |")
    return _told(lines, found)


def elsewhere(found: _Found) -> str:
    """Each method that does not run on a CPU, with the engine's own words."""
    lines = ["| method | ends with | the engine's words |", "|---|---|---|"]
    for name, each in found["runs"].items():
        if "error" in each:
            lines.append(f"| {name} | exit code {each['exit']} | {_cell(each['error'])[:_LONG]} |")
    return _told(lines, found)


def faults(found: _Found) -> str:
    """Each fault, the layer that caught it, how soon, and what it said."""
    layers = list(Layer)
    count = {layer: sum(each["layer"] == layer for each in found["runs"].values()) for layer in layers}
    lines = [
        f"{len(found['runs'])} faults: {', '.join(f'{count[each]} caught by {each.value}' for each in layers)}.",
        "",
        "| fault | with | caught by | reason | after | what it says |",
        "|---|---|---|---|---|---|",
    ]
    by_name = {each.what: each for each in ALL}
    for name, each in found["runs"].items():
        method = by_name[name].asked().speculation["method"]
        after = f"{each['seconds']:.1f} s" if each["layer"] != Layer.GUARD else f"{each['windows']} windows"
        lines.append(
            f"| {name} | {method} | {each['layer']} | {each['reason'] or ''} | {after} | {_cell(each['message'])} |"
        )
    return _told(lines, found)


def bench(found: _Found) -> str:
    """Tokens per second against the plain engine of the same round, by kind of prompt and number of clients."""
    kinds = [(kind, str(clients)) for kind in ("code", "drift") for clients in found["clients"]]
    head = " | ".join(f"{kind}, {clients} client{'s' * (clients != '1')}" for kind, clients in kinds)
    lines = [
        f"| method | {head} | accepted on code | TPOT, TTFT, 1 client | up after | memory |",
        "|---" * (len(kinds) + 5) + "|",
    ]
    for name, base in {**{each: each for each in found["bases"].values()}, **found["bases"]}.items():
        rounds = [each for group in found["groups"] for each in group if name in each]
        cells = " | ".join(_speed(rounds, name, base, *each) for each in kinds)
        lines.append(f"| {name} | {cells} | {_costs([each[name] for each in rounds])} |")
    return _told(lines, found)


def _costs(rounds: list[_Found]) -> str:
    """Acceptance, times and memory of one engine, medians."""
    rate = _median(each["code"]["counters"]["acceptance"] or 0.0 for each in rounds)
    one = [each["code"]["1"] for each in rounds]
    times = f"{_median(each['tpot_ms'] for each in one):.2f} ms, {_median(each['ttft_ms'] for each in one):.1f} ms"
    up = _median(each["ready_seconds"] for each in rounds)
    memory = _median(each["memory"] for each in rounds) / 2**30
    return f"{_share(rate or None)} | {times} | {up:.0f} s | {memory:.2f} GiB"


def image(found: _Found) -> str:
    """The image's size, and the seconds from the start of its container to a proven server."""
    lines = [
        "| what | measured |",
        "|---|---|",
        *(f"| {name} | {value} |" for name, value in found["measured"].items()),
    ]
    return _told(lines, found)


def _speed(rounds: list[_Found], name: str, base: str, kind: str, clients: str) -> str:
    """A plain engine's tokens per second, or a method's ratio to it: median, and the smallest and largest round."""
    own = [each[name][kind][clients]["tokens_per_second"] for each in rounds]
    if name == base:
        return f"{_median(own):.0f} tokens/s"
    ratios = [one / each[base][kind][clients]["tokens_per_second"] for one, each in zip(own, rounds, strict=True)]
    return f"{_median(ratios):.2f}x ({min(ratios):.2f}-{max(ratios):.2f})"


def _median(values: Iterable[float]) -> float:
    return statistics.median(values)


def _share(rate: float | None) -> str:
    return "" if rate is None else f"{rate:.0%}"


def _cell(text: str) -> str:
    return " ".join(str(text).split()).replace("|", "\\|").replace("<", "&lt;")


def _told(lines: list[str], found: _Found) -> str:
    return "\n".join([*lines, "", f"*{found['machine']}; {found['image']}.*"]) + "\n"
