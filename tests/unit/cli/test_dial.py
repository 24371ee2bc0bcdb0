"""The command line of `specdec dial`; what it sets and waits for is in tests/unit/tune."""

import pytest
from typer.testing import CliRunner

from specdec_command.cli.commands import application


@pytest.mark.parametrize("words", [["dial"], ["dial", "llama"], ["dial", "llama", "on"], ["dial", "llama", "-1"]])
def test_a_wrong_command_line_is_refused_before_anything_is_asked(words: list[str]) -> None:
    """With the values that it takes."""
    assert CliRunner().invoke(application(), words).exit_code == 2
