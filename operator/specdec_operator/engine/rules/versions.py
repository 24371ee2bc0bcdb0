"""Engines outside the range that the rules were read for."""

from collections.abc import Iterator
from typing import Final

from specdec_operator.engine.rule import Finding
from specdec_operator.engine.rules.making import stricter, warned
from specdec_operator.engine.settled import Settled
from specdec_operator.engine.version import Version

FIRST: Final = Version(0, 11)
LAST: Final = Version(0, 33)

OLD: Final = stricter("VERSION-OLD", f"Engines before {FIRST} are not known here.", "the releases that were read")
NEW: Final = warned(
    "VERSION-NEW", f"Engines after {LAST} are judged as {LAST.major}.{LAST.minor}.", "the releases that were read"
)

RULES: Final = (OLD, NEW)


def check(settled: Settled) -> Iterator[Finding]:
    """Whether the version lies in the range."""
    build = settled.case.build
    if settled.version < FIRST:
        yield OLD.broken("build", str(build), f"{build} is not known; use {FIRST} or a later one")
    elif (settled.version.major, settled.version.minor) > (LAST.major, LAST.minor):
        yield NEW.broken("build", str(build), f"{build} is newer than this release; what is new in it is not judged")
