"""Short ways to write a rule down."""

from typing import Final

from specdec_operator.engine.rule import Rule, Severity
from specdec_operator.engine.version import Flavor

SPECULATIVE: Final = "config/speculative.py"
"""Where most of the engine's own rules stand."""
_LONGEST: Final = 80
RECORDED: Final = "verdicts of the engine's configuration code, accepted there"


def refused(
    name: str, says: str, source: str, *, since: str = "", until: str = "", on: tuple[Flavor, ...] = ()
) -> Rule:
    """The engine's own configuration refuses it."""
    return Rule(id=name, severity=Severity.REFUSED, says=says, source=source, since=since, until=until, flavors=on)


def stricter(
    name: str, says: str, source: str, *, since: str = "", until: str = "", on: tuple[Flavor, ...] = ()
) -> Rule:
    """The engine's configuration accepts it, and it then fails or does something else."""
    return Rule(
        id=name,
        severity=Severity.REFUSED,
        says=says,
        source=source,
        stricter=True,
        since=since,
        until=until,
        flavors=on,
    )


def warned(name: str, says: str, source: str, *, since: str = "", until: str = "", on: tuple[Flavor, ...] = ()) -> Rule:
    """It works, and surprises."""
    return Rule(id=name, severity=Severity.WARNED, says=says, source=source, since=since, until=until, flavors=on)


def noted(name: str, says: str, source: str, *, since: str = "", until: str = "", on: tuple[Flavor, ...] = ()) -> Rule:
    """Good to know."""
    return Rule(id=name, severity=Severity.NOTED, says=says, source=source, since=since, until=until, flavors=on)


def shown(value: object) -> str:
    """A value for a message: as Python writes it, cut where it is long."""
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
