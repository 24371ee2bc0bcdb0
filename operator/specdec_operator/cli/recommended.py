"""How a recommendation is shown: for people, as the sis alone, or as JSON."""

import json
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any, Final

import typer
import yaml
from rich.console import Console
from rich.table import Table
from rich.text import Text

from specdec_operator.advice.candidates import Candidate
from specdec_operator.advice.plain import plain
from specdec_operator.advice.recommend import Recommendation
from specdec_operator.cli import structure
from specdec_operator.cli.explain import Form
from specdec_operator.cli.judge import schema
from specdec_operator.errors import Invalid
from specdec_operator.staging.layout import lay_out

_WIDTH: Final = 108


def refused(sis: Mapping[str, Any]) -> str:
    """Why the API server would refuse the sis, or nothing could be mounted; empty: neither. The engine was asked."""
    whole = structure.filled(plain(sis), schema())
    if wrong := list(structure.problems(whole, schema(), "")):
        return "; ".join(f"{each.path}: {each.value!r}: {each.message}" for each in wrong)
    try:
        lay_out(whole["spec"], name=whole["metadata"]["name"])
    except Invalid as error:
        return error.message
    return ""


def show(found: Recommendation, form: Form) -> None:
    """Print it, all of it to standard output."""
    match form:
        case Form.JSON:
            typer.echo(json.dumps(plain(found), indent=2, ensure_ascii=False))
        case Form.YAML:
            comments = (f"# {line}" for said in sentences(found) for line in textwrap.wrap(said, _WIDTH))
            typer.echo("\n".join([*comments, manifest(found)]), nl=False)
        case Form.TEXT:
            _text(found)


def manifest(found: Recommendation) -> str:
    """The sis as YAML."""
    return yaml.safe_dump(plain(found.sis), sort_keys=False, width=110, allow_unicode=True)


def sentences(found: Recommendation) -> Iterator[str]:
    """The answer and its reasons, a sentence each."""
    yield found.headline
    for each in found.objections:
        yield f"Because {each.says} [{each.source}]."
    if found.choice is not None:
        yield from _of_choice(found.choice)
    yield from found.steps


def _of_choice(choice: Candidate) -> Iterator[str]:
    for each in choice.reasons:
        yield f"{choice.method}: {each.says.rstrip('.')} [{each.source}]."
    for each in choice.warnings:
        yield f"Mind: {each.says} [{each.source}]."
    if choice.price:
        yield f"Memory: {choice.price}."


def _text(found: Recommendation) -> None:
    console = Console(highlight=False)
    headline, *others = sentences(found)
    console.print(Text(headline, style="bold"))
    for each in others:
        console.print(Text(f"- {each}"))
    console.print(_table(found))
    typer.echo(f"---\n{manifest(found)}", nl=False)


def _table(found: Recommendation) -> Table:
    table = Table("method", "standing", "K", "expected", "why", title=f"on {found.engine}", title_justify="left")
    for each in found.candidates:
        why = each.reasons[0].says if each.reasons else ""
        table.add_row(each.method, each.standing.value, str(each.tokens or ""), str(each.speedup), Text(why))
    return table
