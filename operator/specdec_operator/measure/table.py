"""The figures as a table for the terminal."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from specdec_operator.measure.compare import Level
from specdec_operator.measure.measurement import Measurement
from specdec_operator.measure.notes import notes
from specdec_operator.measure.words import conclusion, equal, milliseconds, share, speed, times


def render(found: Measurement) -> RenderableType:
    """The figures, what they say, and what to know before believing them."""
    said = [Text(conclusion(each.concurrency, each.tokens_per_second), "bold") for each in found.levels]
    return Group(figures(found), Text(), *said, Text(), *(Text(f"- {each}", "dim") for each in notes(found)))


def figures(found: Measurement) -> Table:
    """Medians with quartiles, and ratios with their intervals."""
    context = found.context
    title = f"{context.namespace}/{context.name}: {context.method}, K {context.tokens}, prompts {found.order.source}"
    table = Table(title=title, title_justify="left")
    table.add_column("at once", justify="right")
    table.add_column("figure")
    for name in ("speculating", "plain", "speed-up"):
        table.add_column(name, justify="right")
    for level in found.levels:
        for index, row in enumerate(_rows(level)):
            table.add_row(str(level.concurrency) if index == 0 else "", *row)
        table.add_section()
    return table


def _rows(level: Level) -> list[tuple[str, str, str, str]]:
    one, other = level.speculating, level.plain
    return [
        ("tokens/s", speed(one.tokens_per_second), speed(other.tokens_per_second), times(level.tokens_per_second)),
        ("ms per output token", milliseconds(one.per_token), milliseconds(other.per_token), times(level.per_token)),
        ("ms to first token", milliseconds(one.first_token), milliseconds(other.first_token), times(level.first_token)),
        ("acceptance", share(one.acceptance), share(other.acceptance), ""),
        ("answers equal to plain's", equal(level.equal), equal(level.plain_again), ""),
    ]
