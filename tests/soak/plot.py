"""Draws a soak with matplotlib: memory, open files, tasks and loops over time."""

import pathlib
from collections.abc import Sequence

import matplotlib
from matplotlib.figure import Figure

from tests.soak.samples import Sample

_STYLE = {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": "specdec-operator"}


def draw(samples: Sequence[Sample], *files: pathlib.Path) -> None:
    """Into files; their suffixes say in which format."""
    minutes = [each.at / 60 for each in samples]
    with matplotlib.rc_context(_STYLE):  # type: ignore[arg-type]
        figure = Figure(figsize=(9, 5))
        memory, counts = figure.subplots(2, 1, sharex=True)
        memory.plot(minutes, [each.rss_mb for each in samples], color="#0072B2")
        memory.set(ylabel="memory, MiB", ylim=(0, None))
        for name, colour in (("tasks", "#009E73"), ("loops", "#666666"), ("files", "#D55E00")):
            counts.plot(minutes, [getattr(each, name) for each in samples], color=colour, label=name)
        counts.set(xlabel="minutes", ylim=(0, None))
        counts.legend(frameon=False, ncols=3)
        for file in files:
            figure.savefig(file, dpi=120, metadata={"Date": None} if file.suffix == ".svg" else None)
