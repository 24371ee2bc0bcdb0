"""`specdec replay`: what the guard would have made of a recording, to choose thresholds before they are enforced."""

import json
import pathlib
from math import isfinite
from types import MappingProxyType
from typing import Annotated, Any, Final

import typer
import yaml
from pydantic import ValidationError
from rich.table import Table

from specdec_command.cli.input import say
from specdec_command.cli.replay_plot import draw
from specdec_command.replay.play import Played, WindowDecision, learn, play, read_recording
from specdec_operator.api.guard import Guard
from specdec_operator.api.speculation import Method
from specdec_operator.errors import Invalid
from specdec_operator.guard.baseline_pods import BOUND, Measure, MeasureFinding, about
from specdec_operator.guard.policy import METHODS
from specdec_operator.guard.speed_checks import collateral_text
from specdec_operator.guard.tries import Action


def replay(
    trace: Annotated[pathlib.Path, typer.Argument(exists=True, dir_okay=False, metavar="TRACE.jsonl[.gz]")],
    guard: Annotated[
        pathlib.Path | None, typer.Option(exists=True, dir_okay=False, help="YAML file with `guard:`.")
    ] = None,
    baseline: Annotated[
        pathlib.Path | None,
        typer.Option(
            exists=True, dir_okay=False, help="A recording of the baseline (no speculation), for the baseline speed."
        ),
    ] = None,
    method: Annotated[
        str, typer.Option(help="Method of the recorded service, for its default thresholds.")
    ] = "draft_model",
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of a table.")] = False,
    plot: Annotated[
        pathlib.Path | None,
        typer.Option(dir_okay=False, metavar="FILE.png|.svg", help="Also draw a plot into this file."),
    ] = None,
) -> None:
    """Play a recording of /metrics through the guard: each window, its verdict, and what would have been done."""
    try:
        played = _play(trace, guard, baseline, method)
        if plot is not None:
            draw(played, plot)
    except Invalid as error:
        typer.echo(f"specdec: {error.message}", err=True)
        raise typer.Exit(1) from error
    if as_json:
        typer.echo(json.dumps(_as_json(played), indent=2))
    else:
        _show(played)


def _play(trace: pathlib.Path, guard: pathlib.Path | None, baseline: pathlib.Path | None, method: str) -> Played:
    if method not in {each.value for each in Method}:
        raise Invalid("--method", method, f"one of {', '.join(sorted(each.value for each in Method))}")
    spec = _guard(guard)
    known = learn(read_recording(baseline), spec) if baseline else ()
    return play(read_recording(trace), spec, METHODS[Method(method)], known)


def _guard(file: pathlib.Path | None) -> Guard:
    """The guard of a file with `guard:` or a whole service, or with every default. Raises Invalid for other files."""
    try:
        data = yaml.safe_load(file.read_text(encoding="utf-8")) if file else {}
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise Invalid(str(file), "unreadable", str(error)) from error
    data = data.get("spec", data) if isinstance(data, dict) else data
    part = data.get("guard", data if file is None else None) if isinstance(data, dict) else None
    if not isinstance(part, dict):
        raise Invalid(str(file), data, "write `guard:` with the fields of spec.guard below it")
    fields = {field.alias or name for name, field in Guard.model_fields.items()}
    for name in part.keys() - fields:
        rule = f"not a field; the fields are {', '.join(sorted(fields))}"
        raise Invalid(f"{file}: guard.{name}", part[name], rule)
    try:
        return Guard.model_validate(part)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(["guard", *map(str, first["loc"])])
        raise Invalid(f"{file}: {field}", first.get("input"), first["msg"]) from error


def _as_json(played: Played) -> dict[str, Any]:
    return {
        "decisions": [
            {
                "t": round(each.at, 3),
                "verdict": each.judged.verdict.outcome.value,
                "reason": each.judged.verdict.reason.value,
                "action": _act(each),
                "kind": _kind(each),
                "finding": each.collateral[0].value if each.collateral else None,
                "pod": each.pod,
                "findings": [_finding(found) for found in each.judged.findings],
                "message": each.judged.verdict.message,
            }
            for each in played.decisions
        ],
        "final": {"state": played.phase.value, "serving": played.serving},
    }


_KINDS: Final = MappingProxyType(
    {Action.ROLL_BACK: "rollback", Action.RESTART_POD: "restart-pod", Action.REDUCE_TOKENS: "reduce-tokens"}
)
_WARN: Final = "Warn"
_ACQUITTED: Final = "acquitted"
"""The comparison ended, and speculation stays; a word of the output, like a reason."""


def _act(each: WindowDecision) -> str | None:
    """What was done; a warning is shown and changes nothing."""
    return each.action.value if each.action else _WARN if each.collateral else None


def _kind(each: WindowDecision) -> str | None:
    """What kind of decision it was; None for a window after which everything stays as it was."""
    if each.action:
        return _KINDS[each.action]
    return "collateral" if each.collateral else "acquit" if each.acquitted else None


def _finding(found: MeasureFinding) -> dict[str, Any]:
    """The result of both arms for one measure; null stands for a score without end."""
    numbers = {name: round(getattr(found, name), 4) for name in ("value", "low", "high", "limit", "unlike")}
    score = round(found.score, 2) if isfinite(found.score) else None
    return {"measure": found.measure.value, **numbers, "score": score, "bound": BOUND, "windows": found.windows}


def _show(played: Played) -> None:
    with_evidence = ("evidence",) if any(each.judged.findings for each in played.decisions) else ()
    columns = ("t", "verdict", "reason", "accept", "length", "speedup", *with_evidence, "action")
    table = Table(*columns, box=None, pad_edge=False)
    for each in played.decisions:
        table.add_row(*_row(each, with_evidence=bool(with_evidence)))
    say(table, by_row=True)
    for each in played.decisions:
        for found in each.judged.findings:
            if found.measure in each.collateral:
                typer.echo(f"{each.at:.0f} s: collateral: {collateral_text(found)}")
        if each.acquitted:
            typer.echo(f"{each.at:.0f} s: {_ACQUITTED}: {each.judged.verdict.message}")
        if action := _action(each):
            typer.echo(f"{each.at:.0f} s: {action}: {each.judged.verdict.message}")
    if not played.decisions:
        needs = f"a window of {played.guard.window:.0f} s after a warmup of {played.guard.warmup:.0f} s"
        typer.echo(
            f"no window was judged: the recording is shorter than {needs}; record longer, or set shorter ones with "
            "--guard"
        )
    typer.echo(f"final state: {played.phase.value}, serving {played.serving}")


def _row(each: WindowDecision, *, with_evidence: bool) -> tuple[str, ...]:
    verdict, evidence, comparison = each.judged.verdict, each.judged.evidence, each.judged.comparison
    numbers = (evidence.acceptance_rate, evidence.acceptance_length, comparison.speedup if comparison else None)
    words = ["-" if number is None else f"{number:.2f}" for number in numbers]
    if with_evidence:
        speed = about(each.judged.findings, Measure.SPEED)
        words.append("-" if speed is None else f"{speed.score:+.1f} of {BOUND}")
    done = _action(each) or (_kind(each) or "")
    return f"{each.at:.0f} s", verdict.outcome.value, verdict.reason.value, *words, done


def _action(each: WindowDecision) -> str:
    return f"{each.action.value}{f' {each.pod}' if each.pod else ''}" if each.action else ""
