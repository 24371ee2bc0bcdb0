"""The final table: what was measured, in the order in which it happened."""

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text


def render(report: Mapping[str, Any]) -> RenderableType:
    """The report for people."""
    kserve, machine = report["kserve"], report["machine"]
    where = f"KServe: {kserve} · {machine['cores']} cores, {machine['memory_gib']} GiB, {machine['cpu']}"
    return Group(speeds_table(report), Text(), moments_table(report), Text(), Text(where, "dim"))


def speeds_table(report: Mapping[str, Any]) -> Table:
    """Acceptance and speed of each act."""
    table = Table(title="what the traffic saw", title_justify="left")
    table.add_column("service")
    table.add_column("traffic")
    for name in ("acceptance", "tokens/s", "(range)", "against plain"):
        table.add_column(name, justify="right")
    plain, code, drift, after = (report[act] for act in ("plain", "code", "drift", "after"))
    table.add_row("plain", "code", "-", *_speed(plain["tokens_per_second"], plain["spread"]), "1.00x")
    table.add_row("speculating", "code", *_act(code))
    table.add_section()
    table.add_row("plain", "drift", "-", *_speed(plain["drift_tokens_per_second"], plain["drift_spread"]), "1.00x")
    table.add_row("speculating", "drift", *_act(drift))
    last = _speed(after["tokens_per_second"], after["spread"])
    table.add_row("rolled back", "drift", "-", *last, f"{after['speedup']:.2f}x")
    return table


def moments_table(report: Mapping[str, Any]) -> Table:
    """The rollback, and what it cost."""
    table = Table(title="what the operator did by itself", title_justify="left", show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    decision, windows, requests = report["decision"], report["windows"], report["requests"]
    table.add_row("windows", f"{windows['window']}, {windows['failureLimit']} failing in a row decide")
    table.add_row("decided", f"{decision['seconds_from_onset']} s after the traffic changed: {decision['reason']}")
    table.add_row("", Text(decision["message"], "dim"))
    table.add_row("InferenceService patched", f"{decision['seconds_to_patch']} s after the decision")
    table.add_row(
        "plain pod serves", f"{report['serving_again_seconds']} s after the decision (strategy {windows['strategy']})"
    )
    table.add_row("speed after the rollback", f"{report['after']['speedup_over_drift']}x of before")
    table.add_row("requests", f"{requests['ok']} answered, {requests['failed']} failed")
    for promise in report["promises"]:
        kept = Text("kept", "green") if promise["kept"] else Text("NOT KEPT", "bold red")
        measured = Text(f" ({promise['measured']:g} s of {promise['at_most']:g} s)")
        table.add_row(f"promise: {promise['what']}", kept + measured)
    return table


def _act(act: Mapping[str, Any]) -> tuple[str, str, str, str]:
    rate = "-" if act["acceptance"] is None else f"{act['acceptance']:.2f}"
    return rate, *_speed(act["tokens_per_second"], act["spread"]), f"{act['speedup']:.2f}x"


def _speed(median: float, spread: list[float]) -> tuple[str, str]:
    return f"{median:.0f}", f"{spread[0]:.0f} - {spread[1]:.0f}"
