"""The demo as a program: tells the story, shows the table, writes the files, says what is left."""

import asyncio
import json
import pathlib
import sys

from rich.console import Console

from hack.cluster.errors import ClusterError
from hack.demo import picture, report, samples, screen, table, telling
from hack.demo.recording import Recording

_ROOT = pathlib.Path(__file__).parents[2]
_WIDTH_IN_A_FILE = 110


def main(usage: str) -> int:
    """Run; the exit code is 0 when the story was told to its end and every promise in it was kept."""
    console = Console() if sys.stdout.isatty() else Console(width=_WIDTH_IN_A_FILE)
    if sys.argv[1:]:
        console.print(f"{usage}\nIt takes no arguments. What it measures, and how: docs/demo.md", markup=False)
        return 2
    try:
        code = run(console)
    except KeyboardInterrupt:
        console.print("\nStopped. What was up stays up.")
        code = 130
    except ClusterError as error:
        console.print(f"\nerror: {error}", style="red", markup=False, soft_wrap=True)
        code = 1
    console.print(what_is_left(), markup=False, highlight=False, soft_wrap=True)
    return code


def run(console: Console) -> int:
    """Tell the story, show the table, write the files."""
    view = screen.choose(console)
    with view:
        try:
            recording = asyncio.run(telling.tell(view))
        except* ClusterError as group:
            raise first(group) from None
    found = report.assemble(recording)
    console.print()
    console.print(table.render(found))
    written = write(recording, found)
    console.print(f"\nWritten: {', '.join(each.name for each in written)}", soft_wrap=True)
    return 0 if all(promise["kept"] for promise in found["promises"]) else 1


def write(recording: Recording, found: report.Report) -> list[pathlib.Path]:
    """Write the report, and the picture in both formats."""
    from hack.demo import plot  # noqa: PLC0415 - matplotlib takes seconds to load: not before it is needed

    numbers, *pictures = (_ROOT / f"demo.{suffix}" for suffix in ("json", "svg", "png"))
    numbers.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    plot.draw(picture.compose(recording), *pictures)
    return [numbers, *pictures]


def what_is_left() -> str:
    """How to look at what the demo leaves, and how to be rid of it."""
    namespace = samples.read(samples.PLAIN).namespace
    return (
        f"\nLook:    .venv/bin/python -m hack.cluster kubectl get sis,isvc,pods -n {namespace}"
        '   (or: eval "$(make -s cluster-env)", then kubectl)\n'
        "Again:   make demo\n"
        "Remove:  make cluster-down"
    )


def first(group: BaseExceptionGroup[ClusterError]) -> ClusterError:
    """The first error of a group, however deep it lies: one sentence is enough for a person."""
    found = group.exceptions[0]
    return first(found) if isinstance(found, BaseExceptionGroup) else found
