"""specdec(1): as the commands are now, complete, and set without a warning."""

import shutil
import subprocess

import pytest
from hack.packaging.man import PAGE


@pytest.mark.skipif(shutil.which("groff") is None, reason="there is no groff on this machine")
@pytest.mark.parametrize("device", ["utf8", "ascii", "ps"])
def test_it_is_set_without_a_warning(device: str) -> None:
    """groff with all warnings on."""
    argv = ["groff", "-ww", "-man", f"-T{device}", "-z", str(PAGE)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
