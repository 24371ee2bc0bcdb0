"""Draws a soak with matplotlib: memory, open files, tasks and loops over time."""

import pathlib
from collections.abc import Sequence

from hack import drawing
from matplotlib.figure import Figure

from lab.soak.samples import Sample


def draw(samples: Sequence[Sample], *files: pathlib.Path) -> None:
    """Draws into files; their suffixes set the format."""
    minutes = [each.at / 60 for each in samples]
    with drawing.style():
        figure = Figure(figsize=(9, 5))
        memory, counts = figure.subplots(2, 1, sharex=True)
        memory.plot(minutes, [each.rss_mb for each in samples], color=drawing.BLUE)
        memory.set(ylabel="memory, MiB", ylim=(0, None))
        for name, colour in (("tasks", drawing.GREEN), ("loops", drawing.GREY), ("files", drawing.RED)):
            counts.plot(minutes, [getattr(each, name) for each in samples], color=colour, label=name)
        counts.set(xlabel="minutes", ylim=(0, None))
        counts.legend(ncols=3)
        drawing.save(figure, *files)
