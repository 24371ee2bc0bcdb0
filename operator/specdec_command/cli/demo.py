"""`specdec demo`: a recorded story, played through the operator's own loop, in the terminal and as a page."""

import asyncio
import math
import pathlib
from typing import Annotated

import typer

from specdec_command.cli.input import stop


def demo(
    speed: Annotated[float, typer.Option(help="How many times as fast as it happened: 0.1 to 1000.")] = 10.0,
    no_wait: Annotated[
        bool, typer.Option("--no-wait", help="Print everything at once. Without a terminal it is always so.")
    ] = False,
    page_file: Annotated[
        pathlib.Path | None,
        typer.Option("--page", metavar="FILE.html", help="Write the story with the operator's page into one file."),
    ] = None,
) -> None:
    """Show a recorded story without a cluster: a draft pays, the traffic changes, speculation is taken out, a retry."""
    if not (math.isfinite(speed) and 0.1 <= speed <= 1000):
        raise stop(f"--speed {speed:g}: must be a number from 0.1 to 1000; 1 is as fast as it happened")
    # The operator's loop and its libraries take a second to import: only where they are needed.
    from specdec_command.cli.demo_show import show  # noqa: PLC0415
    from specdec_command.story.page import story_page  # noqa: PLC0415
    from specdec_command.story.play import moments  # noqa: PLC0415
    from specdec_command.story.recording import read_story  # noqa: PLC0415

    recording = read_story()
    seen = asyncio.run(moments(recording))
    if page_file is not None:
        _write(page_file, story_page(recording, seen))
    show(recording, seen, math.inf if no_wait else speed)
    if page_file is not None:
        typer.echo(f"Written: {page_file}")


def _write(file: pathlib.Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise stop(f"--page {file}: it cannot be written: {error.strerror}") from error
