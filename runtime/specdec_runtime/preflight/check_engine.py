"""The engine that is installed against the one that the operator rendered the flags for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specdec_engine import found_engine
from specdec_engine.flags import option
from specdec_engine.rule import Finding, Severity
from specdec_runtime.preflight.finding import FolderRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from specdec_runtime.preflight.case import PreflightCase

DIFFERS: Final = FolderRule(
    id=found_engine.DIFFERS,
    severity=Severity.REFUSED,
    when="the pod was rendered for another version",
    says="The engine in the image has all flags, keys and methods of the pod.",
    without="`unrecognized arguments`, or a validation error, after the engine was imported.",
    source="vllm/engine/arg_utils.py, 0.11 to 0.33",
)
OTHER: Final = FolderRule(
    id="EngineVersionOther",
    severity=Severity.WARNED,
    when="the same, and it has them",
    says="The engine is the one that the flags are for.",
    without="Rules of another version were checked.",
    source="vllm/engine/arg_utils.py, 0.11 to 0.33",
)
RULES: Final = (DIFFERS, OTHER)
_UNREADABLE: Final = ("FLAG-UNKNOWN", "FLAG-VALUE", "KEY-UNKNOWN", "METHOD-UNKNOWN")
"""Rules that a command line for another version breaks."""


def rendered_for(case: PreflightCase) -> Iterator[Finding]:
    """Flags of another version can keep the engine from starting, without speculation too."""
    asked, seen = case.around.rendered_for, case.around.found
    if not found_engine.differ(asked, seen):
        return
    what = f"the image has {seen}, and the flags are for {asked}"
    version = seen.partition(" ")[2]
    way_out = f"set spec.engine.version to {version}, or use an image of {asked}"
    unknown = case.broken(*_UNREADABLE)
    if unknown is None:
        yield OTHER.broken(option("model"), seen, f"engine: {what}; {way_out}")
    else:
        yield DIFFERS.broken(option("model"), seen, f"engine: {what}: {unknown.message}; {way_out}")
