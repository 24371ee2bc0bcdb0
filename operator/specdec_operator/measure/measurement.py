"""All that one measurement found."""

from dataclasses import dataclass

from specdec_operator.measure.compare import Level, Repeat, levels
from specdec_operator.measure.context import Context
from specdec_operator.measure.order import Order


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """The order, the context and every repeat. redone: why repeats were thrown away and done again."""

    order: Order
    context: Context
    repeats: tuple[Repeat, ...]
    redone: tuple[str, ...]

    @property
    def levels(self) -> tuple[Level, ...]:
        """The comparison for each concurrency."""
        return levels(self.repeats)
