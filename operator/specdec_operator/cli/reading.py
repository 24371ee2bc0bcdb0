"""One sis out of a file, for commands that work on one."""

import json
import sys
from pathlib import Path
from typing import Any

import typer

from specdec_operator.cli.assumed import assumed_kserve
from specdec_operator.cli.documents import Unreadable, documents
from specdec_operator.cli.judge import Remark, is_sis, judge
from specdec_operator.cli.shown import Report, text
from specdec_operator.engine.case import Model
from specdec_operator.engine.rule import Severity
from specdec_operator.staging.kserve import KServe


def one_sis(file: str, kserve: KServe | None = None) -> tuple[dict[str, Any], tuple[Remark, ...]]:
    """The only sis of a file (`-`: standard input) and what is to be said about it, with this KServe.

    Exits with code 2 where there is none or more than one, and with 1, its reasons shown, where it is refused.
    """
    try:
        found = [each for each in documents(_text(file)) if is_sis(each)]
    except Unreadable as error:
        raise _stop(f"{file}:{error.line}: {error}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise _stop(f"{file}: {error}") from error
    if len(found) != 1:
        raise _stop(f"{file}: {len(found)} SpeculativeInferenceServices; one is rendered at a time")
    remarks = judge(found[0], kserve)
    if any(each.severity is Severity.REFUSED for each in remarks):
        typer.echo(text([Report(file=file, remarks=remarks, seen=1)]), err=True, nl=False)
        raise typer.Exit(1)
    data: dict[str, Any] = found[0].data
    return data, remarks


def model_of(place: str | None) -> Model | None:
    """What a local config.json, or the folder that holds it, says of a model. Exits with 2 where it cannot be read."""
    if place is None:
        return None
    path = Path(place)
    path = path / "config.json" if path.is_dir() else path
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise _stop(f"{path}: {error}") from error
    if not isinstance(found, dict):
        raise _stop(f"{path}: must be a JSON object")
    return Model(path=str(path.parent), config=found)


def kserve_of(version: str | None) -> KServe | None:
    """The KServe that the command line names. Exits with 2 for what is no version."""
    try:
        return assumed_kserve(version)
    except ValueError as error:
        raise _stop(str(error)) from error


def _text(file: str) -> str:
    return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")


def _stop(why: str) -> typer.Exit:
    typer.echo(f"error: {why}", err=True)
    return typer.Exit(2)
