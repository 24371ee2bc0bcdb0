"""Plain pods beside the speculating ones, as far as the operator looks."""

from dataclasses import dataclass

from specdec_operator.observe.obstacle import Obstacle


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmView:
    """How far the plain pods beside are. serving: those that answer. obstacle: what lets none in. failure: why there
    can be none, in a sentence: the operator may not make them, or they end again and again. Empty where nothing is.
    """

    serving: int = 0
    obstacle: Obstacle | None = None
    failure: str = ""
