"""`specdec explain METHOD`: what a method is, what it needs, which engines run it, and what to expect of it."""

import difflib
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Annotated

import typer
import yaml
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from specdec_command.advice.catalogue import METHODS, WORDS, Band, MethodAdvice, MethodFact, PodLoad, named
from specdec_command.advice.recommend import plain
from specdec_command.cli.input import as_json, as_yaml, say, stop

Form = StrEnum("Form", ["TEXT", "JSON", "YAML"])
"""How the answer is shown."""
Word = Annotated[str | None, typer.Argument(metavar="METHOD", help="The method. Default: list all methods.")]
Shown = Annotated[Form, typer.Option("--format", help="Output for people, or for programs.")]


def explain(method: Word = None, form: Shown = Form.TEXT) -> None:
    """Explain a method: what it needs, since when, on which accelerators, and what to expect of it."""
    if method is None:
        _show([*METHODS.values()], form, _overview())
        return
    if (advice := named(method)) is None:
        raise stop(_unknown(method))
    _show(advice, form, _page(advice, method))


def _unknown(method: str) -> str:
    near = difflib.get_close_matches(method.lower(), WORDS, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}? " if near else ""
    return f"{method!r} is not a method; {hint}the methods are {', '.join(METHODS)}"


def _show(advice: MethodAdvice | list[MethodAdvice], form: Form, text: RenderableType) -> None:
    if form is Form.JSON:
        typer.echo(as_json(plain(advice)))
    elif form is Form.YAML:
        typer.echo(as_yaml(plain(advice)), nl=False)
    else:
        say(text)


def _overview() -> Table:
    table = Table("method", "guesses from", "what it is")
    for each in METHODS.values():
        table.add_row(each.method, each.needs.value, each.meaning)
    return table


def _page(advice: MethodAdvice, method: str) -> RenderableType:
    title = advice.method if method == advice.method else f"{advice.method} ({method})"
    facts = Table(show_header=False, box=None, pad_edge=False, padding=(0, 2, 1, 0))
    facts.add_column(no_wrap=True, style="bold")
    facts.add_column(ratio=1)
    for head, body in rows(advice):
        facts.add_row(head, body)
    parts: list[RenderableType] = [Panel(Text(advice.meaning), title=title, title_align="left"), facts]
    if advice.example:
        shown = yaml.safe_dump({"speculation": plain(advice.example)}, sort_keys=False)
        parts.append(Panel(Text(shown.rstrip()), title="in spec", title_align="left"))
    return Group(*parts)


def rows(advice: MethodAdvice) -> Iterator[tuple[str, Text]]:
    """The facts about a method, heading by heading."""
    yield "guesses from", Text(advice.needs.value)
    yield "needs", _lines(advice.needed)
    if advice.training:
        yield "training", _lines([advice.training])
    if advice.checks:
        yield "check first", _lines(advice.checks)
    yield "runs on", Text("\n".join(map(str, advice.releases)) or "no engine")
    yield "K", _lines([advice.tokens_note], _tokens(advice))
    known = advice.acceptance is not None and advice.alarm is not None
    band = f"{advice.acceptance} of the draft tokens; below {advice.alarm:.2f} the guard acts" if known else ""
    yield "acceptance", _lines([advice.acceptance_note], band)
    if advice.speedup:
        yield "speed-up", _lines(advice.speedup_notes, _speedup(advice))
    yield "memory", _lines([advice.memory])
    yield "mind", _lines(advice.caveats)


def _tokens(advice: MethodAdvice) -> str:
    if advice.tokens is None:
        return ""
    few, some, many = (advice.tokens[load] for load in PodLoad)
    return f"begin with {few} for up to 8 requests at once, {some} for up to 31, {many} for more"


def _speedup(advice: MethodAdvice) -> str:
    alike: dict[Band, list[str]] = {}
    for workload, band in advice.speedup.items():
        alike.setdefault(band, []).append(workload.value)
    bands = "; ".join(f"{band} for {', '.join(workloads)}" for band, workloads in alike.items())
    return f"with up to 8 requests at once: {bands}"


def _lines(facts: Sequence[MethodFact], first: str = "") -> Text:
    """The first line, if any, and one for each fact, its source in a lighter colour."""
    cited = (Text.assemble(each.says, (f"  [{each.source}]", "dim")) for each in facts)
    return Text("\n").join([*([Text(first)] if first else []), *cited])
