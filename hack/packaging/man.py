"""Writes specdec(1) from the commands themselves, as roff.

`python -m hack.packaging.man` writes packaging/man/specdec.1; with `verify` it reports whether that is stale.
"""

import argparse
import pathlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import typer.main

from hack.command import generate, run
from hack.pages import render
from specdec_command.cli.commands import application
from specdec_command.cli.validate import parser
from specdec_operator import __version__

PAGE: Final = pathlib.Path(__file__).parents[2] / "packaging" / "man" / "specdec.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Command:
    """One command. arguments: names, what they take, and what they do. end: its last paragraph."""

    usage: str
    words: str
    arguments: tuple[tuple[str, str, str], ...]
    end: str = ""


def page() -> str:
    """The page."""
    group: Any = typer.main.get_command(application())
    commands = [_validate() if name == "validate" else _command(name, each) for name, each in group.commands.items()]
    return render("specdec.1", version=__version__, commands=commands)


def _command(name: str, command: Any) -> _Command:
    context = typer.Context(command, info_name=name)
    usage = " ".join(each for each in command.collect_usage_pieces(context) if each != "[OPTIONS]")
    records = [found for each in command.params if (found := each.get_help_record(context))]
    arguments = tuple((*_parted(names), words) for names, words in records)
    return _Command(usage=f"specdec {name} {usage}".rstrip(), words=command.help or "", arguments=arguments)


def _parted(names: str) -> tuple[str, str]:
    """`-o, --output <text|json>` as the names and what they take."""
    flags, space, value = names.partition(" <")
    return flags, space.strip() + value


def _validate() -> _Command:
    """`validate` reads its own options."""
    made = parser()
    words, end = made.description or "", made.epilog or ""
    return _Command(usage="specdec validate [FILE...]", words=words, arguments=tuple(_actions(made)), end=end)


def _actions(made: argparse.ArgumentParser) -> Iterator[tuple[str, str, str]]:
    for action in made._actions:  # argparse has no public list of them
        if isinstance(action, argparse._HelpAction):
            continue
        value = "|".join(action.choices) if action.choices else action.metavar if action.nargs != 0 else ""
        if not action.option_strings:
            yield "", str(action.metavar), action.help or ""
        else:
            yield ", ".join(action.option_strings), f"<{value}>" if value else "", action.help or ""


if __name__ == "__main__":
    run(lambda argv: generate({PAGE: page()}, argv))
