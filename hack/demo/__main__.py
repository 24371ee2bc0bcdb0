"""`python -m hack.demo`: runs the story, prints the table, and writes demo.json, demo.svg and demo.png.

It takes no arguments. What it measures, and how: docs/demo.md
"""

import argparse
import asyncio
import pathlib
import sys
from typing import Final

from rich.console import Console

from hack.cluster.errors import ClusterError

_ROOT: Final = pathlib.Path(__file__).parents[2]
_WIDTH_IN_A_FILE: Final = 110
_LEFT: Final = """
Look:    .venv/bin/python -m hack.cluster kubectl get sis,isvc,pods -n demo\
   (or: eval "$(make -s cluster-env)", then kubectl)
Again:   make demo
Remove:  make cluster-down"""


def main() -> int:
    """Run; the exit code is 0 when the story came to its end and every promise was kept."""
    argparse.ArgumentParser(prog="python -m hack.demo", description=__doc__).parse_args()
    console = Console() if sys.stdout.isatty() else Console(width=_WIDTH_IN_A_FILE)
    try:
        code = _run(console)
    except KeyboardInterrupt:
        console.print("\nStopped. What was up stays up.")
        code = 130
    except ClusterError as error:
        console.print(f"\nerror: {error}", style="red", markup=False, soft_wrap=True)
        code = 1
    console.print(_LEFT, markup=False, highlight=False, soft_wrap=True)
    return code


def _run(console: Console) -> int:
    # Imports that take a second, in which Ctrl-C is as welcome as later.
    from hack.demo import report, screen, story  # noqa: PLC0415

    with screen.Screen(console) as shown:
        try:
            recording = asyncio.run(story.run(shown))
        except* ClusterError as group:
            raise first(group) from None
    found = report.assemble(recording)
    console.print()
    console.print(report.render(found))
    written = report.write(recording, found, _ROOT)
    console.print(f"\nWritten: {', '.join(each.name for each in written)}", soft_wrap=True)
    return 0 if all(promise["kept"] for promise in found["promises"]) else 1


def first(group: BaseExceptionGroup[ClusterError]) -> ClusterError:
    """The first error of a group, however deep it lies: one sentence is enough for a person."""
    found = group.exceptions[0]
    return first(found) if isinstance(found, BaseExceptionGroup) else found


if __name__ == "__main__":
    sys.exit(main())
