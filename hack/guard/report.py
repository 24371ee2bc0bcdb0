"""The figures as tables and as one JSON document."""

from dataclasses import asdict
from typing import Any

from rich import box
from rich.table import Table

from hack.demo import machine
from hack.guard.figures import (
    ABOVE,
    BELOW,
    LEAST_CAUGHT,
    LIMIT,
    MOST_ALARMS,
    Delay,
    Figures,
    alarms_hold_from,
    catches_hold_from,
)
from hack.guard.rules import RULES
from hack.guard.scenes import GUARD_SPEC, LEAST
from hack.guard.traffic import KINDS

_ROUNDED = 5


def document(found: Figures, *, seed: int, seconds: float, workers: int) -> dict[str, Any]:
    """Everything, with what it was measured on and by which rule."""
    return {
        "machine": asdict(machine.describe()),
        "seed": seed,
        "seconds": round(seconds, 1),
        "workers": workers,
        "threshold": LEAST,
        "guard": GUARD_SPEC.model_dump(mode="json", by_alias=True, exclude_none=True),
        "traffic": [asdict(kind) for kind in KINDS],
        "holds_from": {
            kind.name: {
                "rollbacks": alarms_hold_from(found, kind.name),
                "caught": catches_hold_from(found, kind.name),
            }
            for kind in KINDS
        },
        "figures": _rounded(asdict(found)),
    }


def _rounded(value: Any) -> Any:
    match value:
        case dict():
            return {key: _rounded(each) for key, each in value.items()}
        case list() | tuple():
            return [_rounded(each) for each in value]
        case float():
            return round(value, _ROUNDED)
    return value


def tables(found: Figures) -> list[Table]:
    """What is printed."""
    return [
        _alarms(found),
        _catches(found),
        _delays("from the onset to the decision, bursty traffic: acceptance", found.acceptance_delays),
        _delays("from the onset to the decision, bursty traffic: speedup.min", found.speed_delays),
    ]


def promises(found: Figures) -> list[str]:
    """From which volume on the two figures hold, one line for each kind of traffic."""
    return [
        f"{kind.name}: rollbacks <= {100 * MOST_ALARMS:g} % of windows {_from(alarms_hold_from(found, kind.name))}; "
        f"caught >= {100 * LEAST_CAUGHT:g} % within {LIMIT} windows {_from(catches_hold_from(found, kind.name))}"
        for kind in KINDS
    ]


def _from(volume: float | None) -> str:
    return "at no volume tried" if volume is None else f"from {volume:g} requests a window"


def _alarms(found: Figures) -> Table:
    title = f"{100 * ABOVE:g} points above the threshold: rollbacks, % of windows"
    made = _table(title, "traffic", "requests a window", "windows", *RULES, "truly below, % of time")
    for each in found.alarms:
        shares = [f"{100 * each.a_window[rule]:.2f}" for rule in RULES]
        made.add_row(each.kind, f"{each.volume:g}", str(each.windows), *shares, f"{100 * each.low:.1f}")
    return made


def _catches(found: Figures) -> Table:
    title = f"{-100 * BELOW:g} points below the threshold: caught within {LIMIT} ({2 * LIMIT}) windows, % of services"
    made = _table(title, "traffic", "requests a window", "services", *RULES)
    for each in found.catches:
        shares = [f"{100 * each.within_limit[rule]:.1f} ({100 * each.within_twice[rule]:.1f})" for rule in RULES]
        made.add_row(each.kind, f"{each.volume:g}", str(each.services), *shares)
    return made


def _delays(title: str, delays: tuple[Delay, ...]) -> Table:
    shares = (f"within {LIMIT + 1}, %", "ever, %", "before, %")
    made = _table(f"{title}; windows", "drifts to", "requests a window", "services", "median", *shares)
    for each in delays:
        middle = "-" if each.median is None else f"{each.median:.1f}"
        ever = f"{100 * len(each.windows) / each.of:.1f}"
        early = f"{100 * each.early / each.of:.1f}"
        made.add_row(each.name, f"{each.volume:g}", str(each.of), middle, f"{100 * each.in_time:.1f}", ever, early)
    return made


def _table(title: str, first: str, *others: str) -> Table:
    made = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    made.add_column(first)
    for name in others:
        made.add_column(name, justify="right")
    return made
