"""Says whether a measured pair is what tests and the demo need: good drafts on code, none on drift."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CODE_AT_LEAST = 0.5
DRIFT_BELOW = 0.1


def holds(proof: Mapping[str, Any]) -> bool:
    """Tell whether both acceptance rates are on their side of the bounds."""
    measured = proof["speculating"]
    return bool(measured["code"]["acceptance"] > CODE_AT_LEAST and measured["drift"]["acceptance"] < DRIFT_BELOW)


def lines(proof: Mapping[str, Any]) -> Iterator[str]:
    """Put the numbers into words."""
    bounds = {"code": f"> {CODE_AT_LEAST}", "drift": f"< {DRIFT_BELOW}"}
    for kind, bound in bounds.items():
        measured = proof["speculating"][kind]
        line = f"{kind}: acceptance {measured['acceptance']:.2f} (must be {bound})"
        line += f" over {measured['drafted']:.0f} drafted tokens, {measured['tokens_per_second']:.0f} tokens/s"
        if "plain" in proof:
            plain = proof["plain"][kind]["tokens_per_second"]
            line += f", plain {plain:.0f} tokens/s, speed {measured['tokens_per_second'] / plain:.2f}x"
        yield line
    yield "the pair is as it must be" if holds(proof) else "the pair is not as it must be"
