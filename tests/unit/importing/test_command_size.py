"""A command line that is too long to be read is named with its size, and nothing of it is carried over."""

import pytest

from specdec_command.importing.command import command_of
from specdec_operator.guest.sizes import MOST_COMMAND_BYTES


@pytest.mark.parametrize("more", [0, 1])
def test_the_longest_command_line_is_read_and_one_byte_more_is_named(more: int) -> None:
    """The same limit as for a guest."""
    start = ["serve", "m", "--port=1", "--x="]
    rest = "y" * (MOST_COMMAND_BYTES - len("vllm" + "".join(start)) + more)
    found = command_of({"command": ["vllm"], "args": [*start[:-1], start[-1] + rest]}, "here")
    if more:
        assert found.words == ()
        assert [(each.field, each.why) for each in found.lost] == [
            ("here", f"command and args have {MOST_COMMAND_BYTES + 1} bytes, and at most {MOST_COMMAND_BYTES} are read")
        ]
    else:
        assert found.words[0] == "--port=1"
        assert found.lost == ()
