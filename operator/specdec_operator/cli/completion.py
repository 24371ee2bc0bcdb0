"""`specdec completion SHELL`: the script that completes its command line; each shell keeps it where it likes to."""

from enum import StrEnum
from typing import Annotated, Final

import typer
from typer.completion import get_completion_script  # type: ignore[attr-defined] # public, and not marked as such

_NAMES: Final = ("specdec", "kubectl-specdec")


class Shell(StrEnum):
    """Shells with a script."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(shell: Annotated[Shell, typer.Argument(help="The shell that is to complete.")]) -> None:
    """Print the script that completes commands and options: `source <(specdec completion bash)`."""
    for name in _NAMES:
        variable = f"_{name.replace('-', '_').upper()}_COMPLETE"
        typer.echo(get_completion_script(prog_name=name, complete_var=variable, shell=shell.value))
