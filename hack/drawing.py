"""How this project's plots look, and how they are written."""

import pathlib
from typing import Any, Final

import matplotlib
from matplotlib.figure import Figure

BLUE, GREEN, RED, PINK, SKY, ORANGE = "#0072B2", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#E69F00"
"""Okabe and Ito's colours, which people with any colour vision can distinguish."""
GREY: Final = "#666666"
_STYLE: Final[dict[Any, Any]] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "svg.hashsalt": "specdec-operator",
}


def style() -> Any:
    """The style, for the length of a block."""
    return matplotlib.rc_context(_STYLE)


def save(figure: Figure, *files: pathlib.Path) -> None:
    """Writes files; their suffixes set the format. Files have no date, so equal pictures are equal files."""
    for file in files:
        figure.savefig(file, dpi=150, metadata={"Date": None} if file.suffix == ".svg" else None)
