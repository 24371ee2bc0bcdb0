"""The figures as a table for the terminal, and as text: units, digits, and what a ratio means."""

from collections.abc import Iterator
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from specdec_command.measure.caveats import caveats
from specdec_command.measure.compare import Equal, Level, Measurement
from specdec_command.measure.decision import decision_text, summary
from specdec_command.measure.statistics import Quartiles, Ratio


def _shown(spread: Quartiles | None, digits: int, scale: float = 1) -> str:
    """The median with its quartiles, in another unit by the scale."""
    if spread is None:
        return "-"
    median, low, high = (f"{scale * value:.{digits}f}" for value in (spread.median, spread.low, spread.high))
    return f"{median} ({low} to {high})"


def times(ratio: Ratio | None) -> str:
    """A ratio with its interval, and whether the difference is resolved."""
    if ratio is None:
        return "-"
    text = f"{ratio.median:.2f}x ({ratio.low:.2f} to {ratio.high:.2f})"
    return text if ratio.resolved else f"{text}, not resolved"


def _equal(answers: Equal) -> str:
    return f"{100 * answers.share:.0f} % ({answers.same} of {answers.of})"


_FIGURES: Final = (
    ("tokens/s", "tokens_per_second", 1, 1),
    ("ms per output token", "per_token", 2, 1000),
    ("ms to first token", "first_token", 2, 1000),
    ("acceptance", "acceptance", 2, 1),
)
"""What each is called, its field, its digits, and how many of its unit are one."""


def rows(level: Level, *, greedy: bool) -> Iterator[tuple[str, str, str, str]]:
    """Each figure at one load: its name, of the speculating side, of the plain side, and the ratio."""
    for name, field, digits, scale in _FIGURES:
        one, other = (_shown(getattr(side, field), digits, scale) for side in (level.speculating, level.plain))
        yield name, one, other, times(getattr(level, field)) if hasattr(level, field) else ""
    if greedy:
        yield "answers equal to the baseline's", _equal(level.equal), _equal(level.plain_again), ""


def conclusions_of(measurement: Measurement) -> tuple[str, ...]:
    """What follows for all loads together, and for each."""
    return summary(measurement.levels), *(decision_text(each) for each in measurement.levels)


def render(measurement: Measurement) -> RenderableType:
    """The figures, their conclusions, and what to know before believing them."""
    conclusions = [Text(each, "bold") for each in conclusions_of(measurement)]
    remarks = [Text(f"- {each}", "dim") for each in caveats(measurement)]
    return Group(_figures(measurement), Text(), *conclusions, Text(), *remarks)


def _figures(measurement: Measurement) -> Table:
    """Medians with quartiles, and ratios with their intervals."""
    context, source = measurement.context, measurement.order.source
    title = f"{context.namespace}/{context.name}: {context.method}, K {context.tokens}, prompts {source}"
    table = Table(title=title, title_justify="left")
    table.add_column("requests", justify="right")
    table.add_column("figure")
    for name in ("speculating", "plain", "speed-up"):
        table.add_column(name, justify="right")
    for level in measurement.levels:
        for index, row in enumerate(rows(level, greedy=measurement.order.sampling.greedy)):
            table.add_row(level.load.label if index == 0 else "", *row)
        table.add_section()
    return table
