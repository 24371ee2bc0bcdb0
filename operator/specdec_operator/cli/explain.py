"""`specdec explain METHOD`: what a method is, what it needs, which engines run it, and what to expect of it."""

import difflib
import json
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Annotated

import typer
import yaml
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from specdec_operator.advice.facts import Band, Fact, Load, MethodAdvice
from specdec_operator.advice.methods import METHODS, WORDS, named
from specdec_operator.advice.plain import plain


class Form(StrEnum):
    """How the answer is shown."""

    TEXT = "text"
    JSON = "json"
    YAML = "yaml"


Word = Annotated[str | None, typer.Argument(metavar="METHOD", help="The method; without one, all are listed.")]
Shown = Annotated[Form, typer.Option("--format", help="For people, or for programs.")]


def explain(method: Word = None, form: Shown = Form.TEXT) -> None:
    """Explain a method: what it needs, since when, on which accelerators, and what to expect of it."""
    if method is None:
        _say([*METHODS.values()], form, _overview())
        return
    if (found := named(method)) is None:
        typer.echo(f"error: {_unknown(method)}", err=True)
        raise typer.Exit(2)
    _say(found, form, _page(found, method))


def _unknown(word: str) -> str:
    near = difflib.get_close_matches(word.lower(), WORDS, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}? " if near else ""
    return f"{word!r} is no method; {hint}known are {', '.join(METHODS)}"


def _say(found: MethodAdvice | list[MethodAdvice], form: Form, text: RenderableType) -> None:
    if form is Form.JSON:
        typer.echo(json.dumps(plain(found), indent=2, ensure_ascii=False))
    elif form is Form.YAML:
        typer.echo(yaml.safe_dump(plain(found), sort_keys=False, width=110, allow_unicode=True), nl=False)
    else:
        Console(highlight=False).print(text)


def _overview() -> Table:
    table = Table("method", "guesses from", "what it is")
    for each in METHODS.values():
        table.add_row(each.method, each.needs.value, each.meaning)
    return table


def _page(found: MethodAdvice, asked: str) -> RenderableType:
    title = found.method if asked == found.method else f"{found.method} ({asked})"
    return Group(Panel(Text(found.meaning), title=title, title_align="left"), _facts(found), *_example(found))


def _facts(found: MethodAdvice) -> Table:
    table = Table(show_header=False, box=None, pad_edge=False, padding=(0, 2, 1, 0))
    table.add_column(no_wrap=True, style="bold")
    table.add_column(ratio=1)
    for head, body in rows(found):
        table.add_row(head, body)
    return table


def rows(found: MethodAdvice) -> Iterator[tuple[str, RenderableType]]:
    """What is said of a method, heading by heading."""
    yield "guesses from", Text(found.needs.value)
    yield "needs", _sentences(found.needed)
    if found.training:
        yield "training", _sentences([found.training])
    if found.checks:
        yield "check first", _sentences(found.checks)
    yield "runs on", Text("\n".join(map(str, found.releases)) or "no engine")
    yield "K", _tokens(found)
    yield "acceptance", _acceptance(found)
    if found.speedup:
        yield "speed-up", _speedup(found)
    yield "memory", _sentences([found.memory])
    yield "mind", _sentences(found.caveats)


def _tokens(found: MethodAdvice) -> RenderableType:
    if found.tokens is None:
        return _sentences([found.tokens_note])
    few, some, many = (found.tokens[load] for load in Load)
    first = f"begin with {few} for up to 8 requests at once, {some} for up to 31, {many} for more"
    return Group(Text(first), _sentences([found.tokens_note]))


def _acceptance(found: MethodAdvice) -> RenderableType:
    if found.acceptance is None or found.alarm is None:
        return _sentences([found.acceptance_note])
    said = f"{found.acceptance} of the guesses; below {found.alarm:.2f} the guard steps in"
    return Group(Text(said), _sentences([found.acceptance_note]))


def _speedup(found: MethodAdvice) -> RenderableType:
    alike: dict[Band, list[str]] = {}
    for workload, band in found.speedup.items():
        alike.setdefault(band, []).append(workload.value)
    bands = "; ".join(f"{band} for {', '.join(workloads)}" for band, workloads in alike.items())
    return Group(Text(f"with up to 8 requests at once: {bands}"), _sentences(found.speedup_notes))


def _sentences(facts: Sequence[Fact]) -> Text:
    """A line for each fact, its source in a lighter colour."""
    text = Text()
    for index, each in enumerate(facts):
        text.append("\n" if index else "").append(each.says).append(f"  [{each.source}]", style="dim")
    return text


def _example(found: MethodAdvice) -> list[RenderableType]:
    if not found.example:
        return []
    shown = yaml.safe_dump({"speculation": plain(found.example)}, sort_keys=False)
    return [Panel(Text(shown.rstrip()), title="in spec", title_align="left")]
