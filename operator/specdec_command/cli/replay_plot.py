"""`specdec replay --plot`: acceptance, speed beside plain and the running evidence over time, with what was decided."""

import pathlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from specdec_command.replay.play import Played, WindowDecision
from specdec_operator.errors import Invalid
from specdec_operator.guard.baseline_pods import BOUND, Measure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_KINDS: Final = (".png", ".svg", ".pdf")
_BLUE, _RED, _GREEN, _GREY = "#0072b2", "#d55e00", "#009e73", "#888888"
"""Colours that the colour-blind can distinguish (Okabe and Ito)."""


def draw(played: Played, file: pathlib.Path) -> None:
    """Draws what was played. Raises Invalid where it cannot be drawn, or not into that file."""
    if file.suffix not in _KINDS:
        raise Invalid("--plot", file.name, f"a file that ends in {', '.join(_KINDS)}")
    if not played.decisions:
        raise Invalid("--plot", str(file), "the recording has no complete window, so there is nothing to draw")
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - nobody else needs it, and it takes a second to load
    except ImportError as error:
        fix = "matplotlib is needed: install the extra `plot`, in a checkout by pip install '.[plot]'"
        raise Invalid("--plot", str(file), fix) from error
    panels = [_acceptance, _speed]
    panels += [_evidence] if any(each.judged.findings for each in played.decisions) else []
    figure = Figure(figsize=(9, 2.4 * len(panels) + 0.6), layout="constrained")
    rows = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    for axes, panel in zip(rows, panels, strict=True):
        panel(axes, played)
        axes.grid(alpha=0.3)
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
        _mark(axes, played.decisions)
    rows[-1].set(xlabel="minutes of the recording")
    try:
        figure.savefig(file, dpi=150)
    except OSError as error:
        raise Invalid("--plot", str(file), f"it cannot be written: {error.strerror}") from error


def _mark(axes: "Axes", decisions: Sequence[WindowDecision]) -> None:
    for each in decisions:
        if each.action:
            axes.axvline(each.at / 60, color=_RED, linewidth=1)
            axes.annotate(
                each.action.value,
                (each.at / 60, 1),
                (-3, -10),
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
                ha="right",  # the last window is at the border
                color=_RED,
                fontsize=8,
            )


def _acceptance(axes: "Axes", played: Played) -> None:
    rates = [(each.at / 60, each.judged.evidence.acceptance_rate) for each in played.decisions]
    known = [(at, rate) for at, rate in rates if rate is not None]
    axes.plot([at for at, _ in known], [rate for _, rate in known], color=_BLUE, marker=".", label="acceptance")
    if played.thresholds.acceptance_rate is not None:
        axes.axhline(played.thresholds.acceptance_rate, color=_GREY, linestyle="--", label="its minimum")
    axes.set(ylabel="accepted / drafted", ylim=(0, 1))


def _speed(axes: "Axes", played: Played) -> None:
    known = [(each.at / 60, each.judged.comparison) for each in played.decisions if each.judged.comparison]
    at = [minute for minute, _ in known]
    axes.plot(at, [each.speedup for _, each in known if each], color=_BLUE, marker=".", label="speedup")
    low, high = [each.low for _, each in known if each], [each.high for _, each in known if each]
    axes.fill_between(at, low, high, color=_BLUE, alpha=0.2, label="95 % interval")
    axes.axhline(played.thresholds.speedup or 1.0, color=_GREY, linestyle="--", label="limit")
    axes.set(ylabel="baseline time / speculating time")


def _evidence(axes: "Axes", played: Played) -> None:
    """A score far below 0 means no more than one a little below: it is cut off there."""
    measures = dict.fromkeys(found.measure for each in played.decisions for found in each.judged.findings)
    for measure, colour in zip(measures, (_BLUE, _GREEN, _RED, *(_GREY,) * len(Measure)), strict=False):
        scores = [
            (each.at / 60, max(-BOUND, found.score))
            for each in played.decisions
            for found in each.judged.findings
            if found.measure is measure
        ]
        axes.plot(
            [at for at, _ in scores], [score for _, score in scores], color=colour, marker=".", label=measure.value
        )
    axes.axhline(BOUND, color=_GREY, linestyle="--", label="limit")
    axes.set(ylabel="evidence, standard errors", ylim=(-BOUND - 0.5, None))
