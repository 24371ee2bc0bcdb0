"""Says whether a measured pair is what tests and the demo need: good drafts on code, none on drift."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CODE_AT_LEAST = 0.5
DRIFT_BELOW = 0.1
# Two samples of one distribution differ by the noise, which itself varies by a fifth or so.
NOISE_FACTOR = 1.3


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


def sampling_holds(numbers: Mapping[str, float]) -> bool:
    """Tell whether the plugin brings sampling to the noise floor, and whether it is needed for that."""
    bound = numbers["noise"] * NOISE_FACTOR
    return numbers["corrected"] <= bound and numbers["uncorrected"] > 2 * bound


def sampling_line(numbers: Mapping[str, float]) -> str:
    """Put the distances into words."""
    return (
        f"distance of sampled text from the plain server's: {numbers['corrected']:.2f} with the plugin, "
        f"{numbers['uncorrected']:.2f} without; two samples of the plain server differ by {numbers['noise']:.2f}"
    )
