"""The page docs/guard-evidence.md, and the tables of figures.json, also for the screen. Rows that differ little are one
row of ranges.
"""

import json
import pathlib
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Final

from hack.machine import sentence
from hack.pages import filled
from typer.testing import CliRunner

from lab.guard import cross, off_cost
from lab.guard.coverage import STEPS
from lab.guard.dips import OUT, WANDERS
from lab.guard.figures import ABOVE, BELOW, CURVE_WINDOWS, LIMIT
from lab.guard.hours import median
from lab.guard.off_cost import BaselineServes
from lab.guard.rules import BY_DRAFTS, GUARD
from lab.guard.with_baseline import MACHINES, Arrangement
from specdec_command.cli.commands import application

_Found = Mapping[str, Any]
_Row = tuple[str, ...]
_NUMBER: Final = re.compile(r"\d[\d,]*(?:\.\d+)?")
_NO_GOAL: Final = "-"
_ROOT: Final = pathlib.Path(__file__).parents[2]
_TRACES: Final = _ROOT / "tests" / "data" / "traces-traffic"
_SLOWER: Final = "24-arm-prompts-quarter-slower"
_COSTLY: Final = "28-arm-cache-hits-lost"
_BESIDE: Final = (
    "guard: {warmup: 0s, acceptanceRate: {min: 0.1}, speedup: {min: 1.0}, "
    "collateral: {timeToFirstToken: {maxRatio: 1.1}}}"
)
_MEASURED: Final = {
    BaselineServes.BESIDE: "As many baseline pods",
    BaselineServes.BEFORE: "As many pods that served before (MeasureFirst)",
}
_SHOWN: Final = 5
"""Last lines of the first recording that the page has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of words. title: what it is of, with the units."""

    title: str
    heads: _Row
    rows: tuple[_Row, ...]


def merged(rows: Iterable[_Row], key: Callable[[_Row], object]) -> tuple[_Row, ...]:
    """One row for neighbours with the same key: each cell has its smallest and largest numbers."""
    groups = [list(group) for _, group in groupby(rows, key)]
    return tuple(tuple(map(_span, zip(*group, strict=True))) for group in groups)


def _span(cells: _Row) -> str:
    """Cells that differ in their numbers only become one with ranges; other cells are listed."""
    if len({_NUMBER.sub("", cell) for cell in cells}) > 1:
        return "; ".join(dict.fromkeys(cells))
    columns = iter(zip(*(_NUMBER.findall(cell) for cell in cells), strict=True))
    return _NUMBER.sub(lambda _: _range(next(columns)), cells[0])


def _range(numbers: _Row) -> str:
    ends = sorted(numbers, key=lambda each: float(each.replace(",", "")))
    return "-".join(dict.fromkeys((ends[0], ends[-1])))


def page(text: str) -> str:
    """docs/guard-evidence.md with the figures of the guard's simulations, and what it makes of two recordings."""
    slower, costly = (_replayed(name).splitlines() for name in (_SLOWER, _COSTLY))
    costs = [line for line in costly if "collateral:" in line]
    found = json.loads((_ROOT / "docs" / "guard" / "figures.json").read_text(encoding="utf-8"))
    figures = found["figures"]
    parts: dict[str, dict[str, Any]] = {
        "made": {"made": sentence(found)},
        "acceptance": {"lines": markdown(acceptance(figures))},
        "speed": {"lines": markdown(speed(figures))},
        "dips": {"lines": markdown((_dips(), *map(_off_costs, _MEASURED), _cross()))},
        "figures": {"lines": markdown(tables(figures["hours"]))},
        "arms": {"guard": _BESIDE, "names": (_SLOWER, _COSTLY), "slower": slower[-_SHOWN:], "costs": costs},
    }
    return filled(text, "docs/guard-evidence.md", parts)


def _replayed(name: str) -> str:
    """What `specdec replay` prints of a recording. Raises RuntimeError where it fails."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as guard:
        guard.write(_BESIDE)
        guard.flush()
        asked = ["replay", str(_TRACES / f"{name}.jsonl.gz"), "--guard", guard.name]
        done = CliRunner().invoke(application("replay"), asked)
    if done.exit_code:
        raise RuntimeError(f"specdec {' '.join(asked)}: {done.output}")
    return done.output


def acceptance(figures: _Found) -> tuple[Table, ...]:
    """Windows with an acceptance near the threshold, then falls. figures: as they are in figures.json."""
    rules = (GUARD, BY_DRAFTS)
    rows = [
        (
            f"{above['kind']}, {above['volume']:g}",
            *(f"{above['rollbacks'][rule]:,} in {above['windows']:,}" for rule in rules),
            f"{above['low']:.0%}",
            *(f"{below['within_twice'][rule]:.0%}" for rule in rules),
        )
        for above, below in zip(figures["alarms"], figures["catches"], strict=True)
    ]
    high, low, names = f"{100 * ABOVE:g} points above", f"{-100 * BELOW:g} points below", ("guard", "bound alone")
    heads = (
        "traffic, requests per window",
        *(f"{high}, rollbacks: {name}" for name in names),
        f"{high}, windows whose true acceptance was below",
        *(f"{low}, found within {2 * LIMIT} windows: {name}" for name in names),
    )
    title = "acceptance near the threshold: the guard, and Wilson's bound of each window alone"
    near = Table(title=title, heads=heads, rows=merged(rows, lambda row: row[0].partition(",")[0]))
    falls = _delays("acceptance that falls in bursty traffic", figures["acceptance_delays"])
    return near, replace(falls, rows=merged(falls.rows, lambda row: row[0]))


def speed(figures: _Found) -> tuple[Table, ...]:
    """Speed that falls below `speedup.min`, or stays above it. figures: as they are in figures.json."""
    falls = _delays("speed that falls, as a share of `speedup.min`", figures["speed_delays"])
    return (replace(falls, rows=merged(falls.rows, lambda row: row[0])),)


def _delays(title: str, found: list[_Found]) -> Table:
    """From the onset to the decision, one row for each fall and number of requests."""
    rows = []
    for each in found:
        of, windows = each["of"], each["windows"]
        middle = median(windows, of)
        soon = sum(delay <= CURVE_WINDOWS for delay in windows) / of
        shares = (f"{each['in_time']:.0%}", f"{soon:.0%}", f"{len(windows) / of:.0%}", f"{each['early'] / of:.0%}")
        rows.append((each["name"], f"{each['volume']:g}", "-" if middle is None else f"{middle:.1f}", *shares))
    heads = ("falls to", "requests per window", "median, windows", f"within {LIMIT + 1} windows")
    more = (f"within {CURVE_WINDOWS} windows", "within the simulation", "before the fall (false)")
    return Table(title=f"{title}: from the fall to the decision", heads=(*heads, *more), rows=tuple(rows))


def tables(hours: _Found) -> tuple[Table, ...]:
    """What takes hours and days. hours: as they are in figures.json."""
    compared, slow = hours["compared"], _groups(hours["compared"], "name")
    apart = {each.name for each in MACHINES}
    changes = [group for group in slow if group[0]["name"] not in apart]
    machines = [group for group in slow if group[0]["name"] in apart]
    return (
        _changes("true speedup after the change >= 1: services that lost it", changes, slower=False),
        _changes(
            "true speedup < 1: services that lost it, after how many minutes (median, worst)", changes, slower=True
        ),
        _machines(machines),
        _cost(compared),
        _daily(hours["daily"]),
        _falls(hours["falls"]),
        _intervals(hours["intervals"]),
    )


def _dips() -> Table:
    """How soon dips show a loss, one row for each gain; of all machines."""
    found = json.loads(OUT.read_text(encoding="utf-8"))["scenes"]
    rows = []
    for true, group in groupby(
        sorted(found, key=lambda each: each["scene"]["true"]), lambda each: each["scene"]["true"]
    ):
        of_machine = [
            "none" if not each["found"] else f"{each['found']:.1%}{_minutes(each)}, of {each['scene']['hours']} h"
            for each in group
        ]
        rows.append((f"{true:.2f}", *of_machine))
    heads = ("gain that dips show", *(f"ratios wander by {each:.0%}{_lasting(lasts)}" for each, lasts in WANDERS))
    return Table(title="Services that lost speculation, after how many minutes (median)", heads=heads, rows=tuple(rows))


def _cross() -> Table:
    """Adapt where a draft pays at night and costs at noon: one row for each speed at noon."""
    found = json.loads(cross.OUT.read_text(encoding="utf-8"))["scenes"]
    rows = [
        (
            f"{each['speed']:.2f}" + ("" if each["adapts"] else ", without Adapt"),
            *(f"{each['below'][day]:.0f} ({each['longest'][day]:.0f})" for day in range(2)),
            f"{each['night']:.3f}",
            f"{each['noon']:.3f}",
            each["rows"],
        )
        for each in found
    ]
    heads = ("speed of K at noon", "first day", "second day", "speed at night", "at noon", "rows in the end")
    title = "Adapt: minutes in a row below 0.98 of the better of K and nothing, median (longest of all)"
    return Table(title=title, heads=heads, rows=tuple(rows))


def _off_costs(baseline: BaselineServes) -> Table:
    """What dips conclude once a baseline has served: one row for each true gain, one column for each number of pods."""
    scenes = json.loads(off_cost.OUT.read_text(encoding="utf-8"))["scenes"]
    found = [each for each in scenes if each["scene"]["baseline"] == baseline]
    rows = [
        (f"{true:.2f}", *map(_concluded, group))
        for true, group in groupby(
            sorted(found, key=lambda each: (each["scene"]["true"], each["scene"]["pods"])),
            lambda each: each["scene"]["true"],
        )
    ]
    found_at = "services that were found faster or slower than the baseline, after how many minutes (median)"
    heads = ("true gain", *(f"{pods} + {pods} pods" for pods in off_cost.PODS))
    return Table(title=f"{_MEASURED[baseline]}: {found_at}", heads=heads, rows=tuple(rows))


def _concluded(found: _Found) -> str:
    parts = [
        f"{way} {found[way]:.0%}" + ("" if (minutes := found[f"{way}_minutes"]) is None else f", {minutes:.0f} min")
        for way in ("faster", "slower")
        if found[way]
    ]
    return "; ".join(parts) or "neither"


def _lasting(seconds: float) -> str:
    return f" for {seconds / 60:.0f} min" if seconds else ""


def _minutes(found: _Found) -> str:
    return "" if found["minutes"] is None else f", {found['minutes']:.0f} min"


def _groups(rows: Iterable[_Found], *names: str) -> list[list[_Found]]:
    return [list(group) for _, group in groupby(rows, key=lambda each: [each[name] for name in names])]


def _changes(title: str, groups: list[list[_Found]], *, slower: bool) -> Table:
    """One row for each scene, one column for each arrangement."""
    rows = [
        (
            group[0]["name"],
            f"{group[0]['true']:.2f}",
            *(_lost(each) for each in group),
            _at_most(group[0]["goal"], "min", median(group[0]["minutes"], group[0]["services"])),
        )
        for group in groups
        if (group[0]["true"] < 1) is slower
    ]
    if not slower:
        rows = [(*row[:-1], "0") for row in rows]
    heads = ("traffic", "true speedup", *Arrangement, "goal, Always")
    return Table(title=title, heads=heads, rows=merged(rows, lambda row: row[2:]))


def _lost(each: _Found) -> str:
    lost = f"{len(each['minutes'])} of {each['services']}"
    if not each["minutes"]:
        return lost
    middle = median(each["minutes"], each["services"])
    return f"{lost} ({'-' if middle is None else f'{middle:.1f}'}, {max(each['minutes']):.1f})"


def _at_most(goal: float | None, unit: str, reached: float | None) -> str:
    """A goal, and whether it was missed. reached: None where it never was."""
    if goal is None:
        return _NO_GOAL
    return f"<= {goal:g} {unit}{'' if reached is not None and reached <= goal else ', missed'}"


def _machines(groups: list[list[_Found]]) -> Table:
    return Table(
        title="a little faster than the baseline, machines whose speeds vary independently: rollbacks a day",
        heads=("true speedup", *Arrangement),
        rows=tuple((group[0]["name"], *(f"{each['a_day']:.2f}" for each in group)) for group in groups),
    )


def _cost(compared: list[_Found]) -> Table:
    """The cost of the comparison in services that kept useful speculation."""
    apart = {each.name for each in MACHINES}
    rows = [
        (
            each["name"] if each["name"] in apart else "the changes of traffic above",
            f"{each['doubts']:.1f}",
            f"{100 * each['armed']:.0f} %",
        )
        for each in compared
        if each["arrangement"] == Arrangement.ON_DOUBT and each["true"] >= 1
    ]
    heads = ("traffic", "baseline pods started per day", "share of the time with one")
    return Table(
        title="what OnDoubt costs if speculation pays", heads=heads, rows=merged(rows, lambda row: row[0] in apart)
    )


def _daily(found: list[_Found]) -> Table:
    rows = [
        (
            each["name"],
            f"{each['days']:.0f}",
            f"{each['a_day']:.3f}",
            f"{each['most']:.3f}",
            f"{100 * each['struck']:.0f} %",
            str(each["restarts"]),
            _at_most(each["goal"], "a day", each["a_day"]),
        )
        for each in found
    ]
    heads = (
        "acceptance",
        "days",
        "rollbacks a day",
        "with 95 % confidence at most",
        "days with a rollback",
        "restarts",
        "goal",
    )
    return Table(title="acceptance above its minimum", heads=heads, rows=tuple(rows))


def _falls(found: list[_Found]) -> Table:
    rows = []
    for each in found:
        middle = median(each["minutes"], each["services"])
        times = ("-" if at is None else f"{at:.1f}" for at in (middle, max(each["minutes"], default=None)))
        decided = f"{len(each['minutes'])} ({each['early']} before)"
        rows.append((each["name"], str(each["services"]), *times, decided, _at_most(each["goal"], "min", middle)))
    heads = ("acceptance", "services", "median, min", "worst, min", "decided", "goal")
    return Table(title="acceptance that falls: minutes to the decision", heads=heads, rows=tuple(rows))


def _intervals(found: list[_Found]) -> Table:
    """Both truths, one column for each memory."""
    rows = []
    for group in _groups(found, "interval", "volume", "steps", "own"):
        cells = [f"{100 * each['local']:.0f} / {100 * each['long_run']:.0f}" for each in group]
        rows.append((group[0]["interval"], _traffic(group[0]), *cells))
    memories = (f"{each['memory'] / 60:g} min" for each in _groups(found, "interval", "volume", "steps", "own")[0])
    title = (
        "percentage of 95 % intervals that contain the true mean: of the measured time / of the long run. The columns "
        "are correlation times of the traffic"
    )
    heads = ("interval", "requests per window", *memories)
    return Table(title=title, heads=heads, rows=merged(rows, lambda row: row[0]))


def _traffic(each: _Found) -> str:
    words = [f"{each['volume']:g}"]
    words += ["long answers"] if each["steps"] != STEPS[0] else []
    words += [f"machine speeds vary by {100 * each['own']:g} %"] if each["own"] else []
    return ", ".join(words)


def markdown(found: Iterable[Table]) -> Iterator[str]:
    """Tables for a page, line by line."""
    for each in found:
        head = " | ".join(each.heads)
        yield from ("", f"*{each.title[0].upper()}{each.title[1:]}*", "", f"| {head} |", "|---" * len(each.heads) + "|")
        yield from (f"| {' | '.join(row)} |" for row in each.rows)
    yield ""
