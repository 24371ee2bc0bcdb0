"""`specdec replay`: what the guard would have made of a recording, to choose thresholds before they are enforced."""

import json
import pathlib
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from specdec_operator.api.guard import Guard
    from specdec_operator.replay.play import Decision, Played


def replay(
    trace: Annotated[pathlib.Path, typer.Argument(exists=True, dir_okay=False, metavar="TRACE.jsonl[.gz]")],
    guard: Annotated[pathlib.Path | None, typer.Option(exists=True, dir_okay=False, help="YAML with `guard:`.")] = None,
    baseline: Annotated[
        pathlib.Path | None,
        typer.Option(exists=True, dir_okay=False, help="A recording of the plain service, to learn its speed from."),
    ] = None,
    method: Annotated[
        str, typer.Option(help="Method of the recorded service: its default thresholds.")
    ] = "draft_model",
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of a table.")] = False,
) -> None:
    """Play a recording of /metrics through the guard: each window, its verdict, and what would have been done."""
    from specdec_operator.errors import Invalid  # noqa: PLC0415 - `specdec --help` needs none of it

    try:
        played = _play(trace, guard, baseline, method)
    except Invalid as error:
        typer.echo(f"specdec: {error.message}", err=True)
        raise typer.Exit(1) from error
    if as_json:
        typer.echo(json.dumps(_as_json(played), indent=2))
    else:
        _show(played)


def _play(trace: pathlib.Path, guard: pathlib.Path | None, baseline: pathlib.Path | None, method: str) -> "Played":
    from specdec_operator.api.speculation import Method  # noqa: PLC0415
    from specdec_operator.engine.methods import METHODS  # noqa: PLC0415
    from specdec_operator.errors import Invalid  # noqa: PLC0415
    from specdec_operator.replay.play import learn, play  # noqa: PLC0415
    from specdec_operator.replay.recording import read_recording  # noqa: PLC0415

    if method not in {each.value for each in Method}:
        raise Invalid("--method", method, f"one of {', '.join(sorted(each.value for each in Method))}")
    asked = _guard(guard)
    known = learn(read_recording(baseline), asked) if baseline else ()
    return play(read_recording(trace), asked, METHODS[Method(method)], known)


def _guard(file: pathlib.Path | None) -> "Guard":
    """The guard of a file: of `guard:`, of a whole sis, or with every default. Raises Invalid for one that is none."""
    import yaml  # noqa: PLC0415
    from pydantic import ValidationError  # noqa: PLC0415

    from specdec_operator.api.guard import Guard  # noqa: PLC0415
    from specdec_operator.errors import Invalid  # noqa: PLC0415

    try:
        said = yaml.safe_load(file.read_text(encoding="utf-8")) if file else {}
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise Invalid(str(file), "unreadable", str(error)) from error
    said = said.get("spec", said) if isinstance(said, dict) else said
    part = said.get("guard", said if file is None else None) if isinstance(said, dict) else None
    if not isinstance(part, dict):
        raise Invalid(str(file), said, "write `guard:` with the fields of spec.guard below it")
    _refuse_unknown(file, part)
    try:
        return Guard.model_validate(part)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(["guard", *map(str, first["loc"])])
        raise Invalid(f"{file}: {field}", first.get("input"), first["msg"]) from error


def _refuse_unknown(file: pathlib.Path | None, part: dict[str, Any]) -> None:
    from specdec_operator.api.guard import Guard  # noqa: PLC0415
    from specdec_operator.errors import Invalid  # noqa: PLC0415

    known = {field.alias or name for name, field in Guard.model_fields.items()}
    for name, value in part.items():
        if name not in known:
            raise Invalid(f"{file}: guard.{name}", value, f"no such field; there are {', '.join(sorted(known))}")


def _as_json(played: "Played") -> dict[str, Any]:
    return {
        "decisions": [
            {
                "t": round(each.at, 3),
                "verdict": each.judged.verdict.outcome.value,
                "reason": each.judged.verdict.reason.value,
                "action": each.action.value if each.action else None,
                "pod": each.pod,
                "message": each.judged.verdict.message,
            }
            for each in played.decisions
        ],
        "final": {"state": played.phase.value, "serving": played.serving},
    }


def _show(played: "Played") -> None:
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    table = Table("t", "verdict", "reason", "accept", "length", "speedup", "action", box=None, pad_edge=False)
    for each in played.decisions:
        table.add_row(*_row(each))
    console = Console()
    console.print(table)
    for each in played.decisions:
        if each.action is not None:
            at = f"{each.at:.0f} s: {each.action.value}{f' {each.pod}' if each.pod else ''}"
            console.print(f"{at}: {each.judged.verdict.message}", markup=False, highlight=False)
    console.print(f"in the end: {played.phase.value}, serving {played.serving}", markup=False, highlight=False)


def _row(each: "Decision") -> tuple[str, ...]:
    verdict, evidence, comparison = each.judged.verdict, each.judged.evidence, each.judged.comparison
    numbers = (evidence.acceptance_rate, evidence.acceptance_length, comparison.speedup if comparison else None)
    return (
        f"{each.at:.0f} s",
        verdict.outcome.value,
        verdict.reason.value,
        *("-" if number is None else f"{number:.2f}" for number in numbers),
        f"{each.action.value}{f' {each.pod}' if each.pod else ''}" if each.action else "",
    )
