"""What commands share at their edges: one service out of a file, how an answer is shown, the way to stop."""

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer
import yaml
from rich.console import Console, RenderableType

from specdec_command.validation.check import DocumentProblem, check_document, is_service
from specdec_command.validation.documents import Document, Unreadable, documents
from specdec_command.validation.report import FileReport, text
from specdec_engine.case import ModelFolderFacts
from specdec_engine.quantity import parse_duration
from specdec_engine.rule import Severity
from specdec_operator.staging.kserve import KServe, assumed_kserve

_ENDLESS: Final = 100_000


Form = StrEnum("Form", ["TEXT", "JSON"])
"""How an answer is shown: for people, or for programs."""
Shown = Annotated[Form, typer.Option("--output", "-o", help="Output for people, or for programs.")]


def as_json(value: object) -> str:
    """The value for programs, and still for eyes."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def as_yaml(value: object) -> str:
    """The value as people write it."""
    return str(yaml.safe_dump(value, sort_keys=False, width=110, allow_unicode=True))


def say(shown: RenderableType, *, by_row: bool = False) -> None:
    """Prints to a terminal as it is, and to a pipe without colours and without spaces at the ends of lines.

    by_row: whether a pipe gets each row of a table in one line, so wide that nothing is cut.
    """
    console = Console(highlight=False, markup=False)
    if console.is_terminal:
        console.print(shown)
        return
    if by_row:
        console.width = max(console.width, Console(width=_ENDLESS).measure(shown).maximum)
    with console.capture() as captured:
        console.print(shown)
    typer.echo("\n".join(each.rstrip() for each in captured.get().splitlines()))


def stop(why: str, code: int = 2) -> typer.Exit:
    """Prints why a command cannot go on; to be raised."""
    typer.echo(f"error: {why}", err=True)
    return typer.Exit(code)


def duration(option: str, text: str) -> float:
    """A duration of the command line, in seconds. Exits with 2 for another text."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise stop(f"{option} {error}") from error


def one_service(file: str, kserve: KServe | None = None) -> tuple[Document, tuple[DocumentProblem, ...]]:
    """The only service of a file (`-`: standard input) and the problems that do not refuse it, with this KServe.

    Exits with code 2 if there is none or more than one. Shows the reasons and exits with 1 if it is refused.
    """
    try:
        services = [each for each in documents(text_of(file)) if is_service(each)]
    except Unreadable as error:
        raise stop(f"{file}:{error.line}: {error}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise stop(f"{file}: {error}") from error
    if len(services) != 1:
        raise stop(f"{file}: {len(services)} SpeculativeInferenceServices; the command renders only one")
    problems = check_document(services[0], kserve)
    if any(each.severity is Severity.REFUSED for each in problems):
        typer.echo(text([FileReport(file=file, problems=problems, services=1)]), err=True, nl=False)
        raise typer.Exit(1)
    return services[0], problems


def model_of(place: str | None) -> ModelFolderFacts | None:
    """The model of a local config.json, or of the folder that holds it. Exits with 2 if it cannot be read."""
    if place is None:
        return None
    path = Path(place)
    path = path / "config.json" if path.is_dir() else path
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise stop(f"{path}: {error}") from error
    if not isinstance(config, dict):
        raise stop(f"{path}: must be a JSON object")
    return ModelFolderFacts(path=str(path.parent), config=config)


def kserve_of(version: str | None) -> KServe | None:
    """The KServe that the command line names. Exits with 2 for a text that is not a version."""
    try:
        return assumed_kserve(version)
    except ValueError as error:
        raise stop(str(error)) from error


def text_of(file: str) -> str:
    """The text of a file; -: of standard input."""
    return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
