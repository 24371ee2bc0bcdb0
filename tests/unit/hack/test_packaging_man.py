"""specdec(1): as the commands are now, complete, and set without a warning."""

import shutil
import subprocess

import pytest
import typer.main
from hack.packaging.man import PAGE, page

from specdec_command.cli.commands import COMMANDS, application


def test_every_command_and_option_is_in_it() -> None:
    text = page()
    commands = typer.main.get_command(application()).commands  # type: ignore[attr-defined]
    assert set(commands) == set(COMMANDS)
    for name, command in commands.items():
        assert f"\n.SS specdec {name}" in text
        for option in (each for param in command.params for each in param.opts if each.startswith("--")):
            assert option.replace("-", "\\-") in text, (name, option)


@pytest.mark.skipif(shutil.which("groff") is None, reason="there is no groff on this machine")
@pytest.mark.parametrize("device", ["utf8", "ascii", "ps"])
def test_it_is_set_without_a_warning(device: str) -> None:
    """groff with all warnings on."""
    argv = ["groff", "-ww", "-man", f"-T{device}", "-z", str(PAGE)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
