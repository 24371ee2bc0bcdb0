"""Runs actionlint: syntax, expressions, contexts, types and shell names of every workflow are right."""

import pathlib
import subprocess
import sys

from hack.workflows import ensure

_ROOT = pathlib.Path(__file__).parents[2]


def main() -> int:
    """The exit code is actionlint's."""
    files = sorted((_ROOT / ".github" / "workflows").glob("*.yaml"))
    return subprocess.run([ensure(), *files], check=False, cwd=_ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())
