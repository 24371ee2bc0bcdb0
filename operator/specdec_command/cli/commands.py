"""All commands of `specdec`, each imported only where it is asked for: together they take a second to import.

`specdec completion SHELL`: the script that completes its command line; each shell keeps it where it likes to.
"""

from collections.abc import Mapping
from enum import StrEnum
from importlib import import_module
from types import MappingProxyType
from typing import Annotated, Final

import typer
from typer.completion import get_completion_script  # type: ignore[attr-defined] # public, and not marked as such

from specdec_operator import __version__

_PACKAGE: Final = "specdec_command.cli"
COMMANDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "validate": "commands:validate",
        "render": "render:render",
        "explain": "explain:explain",
        "recommend": "recommend:recommend",
        "rules": "rules:rules",
        "import": "import_:import_",
        "guard": "guard:guard",
        "measure": "measure:measure",
        "tune": "tune:tune",
        "preflight": "preflight:preflight",
        "replay": "replay:replay",
        "demo": "demo:demo",
        "doctor": "doctor:doctor",
        "check": "check:check",
        "status": "status:status",
        "watch": "status:watch",
        "rollback": "annotate:rollback",
        "retry": "annotate:retry",
        "dial": "dial:dial",
        "hold": "annotate:hold",
        "release": "annotate:release",
        "completion": "commands:completion",
    }
)
"""Name of each command -> module and function, in the order in which help lists them."""
_HELP: Final = "Speculative decoding on Kubernetes: show, check and control services."


def application(first: str = "") -> typer.Typer:
    """The program. first: the first word of its command line; where that is a command, no other is imported."""
    made = typer.Typer(
        name="specdec", help=_HELP, no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False
    )
    made.callback()(_specdec)
    if first == "--version":
        return made
    for name in [first] if first in COMMANDS else COMMANDS:
        module, _, function = COMMANDS[name].partition(":")
        settings = _PASSED_ON if name == "validate" else {}
        made.command(name, add_help_option=not settings, context_settings=settings)(
            getattr(import_module(f"{_PACKAGE}.{module}"), function)
        )
    return made


_PASSED_ON: Final = {"ignore_unknown_options": True}
"""`validate` reads its own options: it also runs without typer."""


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"specdec {__version__}")
        raise typer.Exit


def _specdec(
    _: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", is_eager=True, callback=_version)
    ] = False,
) -> None:
    """What all commands share."""


def validate(arguments: Annotated[list[str] | None, typer.Argument(metavar="[OPTIONS] [FILE]...")] = None) -> None:
    """Refuse what the API server or the engine would refuse, with file and line."""
    raise typer.Exit(import_module(f"{_PACKAGE}.validate").main(arguments or []))


_NAMES: Final = ("specdec", "kubectl-specdec")


Shell = StrEnum("Shell", ["BASH", "ZSH", "FISH"])
"""Shells with a script."""


def completion(shell: Annotated[Shell, typer.Argument(help="The shell to complete for.")]) -> None:
    """Print the script that completes commands and options: `source <(specdec completion bash)`."""
    for name in _NAMES:
        variable = f"_{name.replace('-', '_').upper()}_COMPLETE"
        typer.echo(get_completion_script(prog_name=name, complete_var=variable, shell=shell.value))
