"""What the tiny pair has to be for the tests and the demo, measured with the real vLLM.

Its drafts are good on code and worthless on drift, and the runtime's plugin keeps the distribution of sampled text.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from hack.models import store

CODE_AT_LEAST = 0.5
DRIFT_BELOW = 0.1
# Two samples of one distribution differ by the noise, which itself varies by a fifth or so.
NOISE_FACTOR = 1.3


def holds(proof: Mapping[str, Any]) -> bool:
    """Return whether both acceptance rates are on their side of the bounds."""
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
            baseline = proof["plain"][kind]["tokens_per_second"]
            line += f", plain {baseline:.0f} tokens/s, speed {measured['tokens_per_second'] / baseline:.2f}x"
        yield line
    yield "the pair is as it must be" if holds(proof) else "the pair is not as it must be"


def sampling_holds(numbers: Mapping[str, float]) -> bool:
    """Return whether the plugin brings sampling to the noise floor, and whether it is needed for that."""
    bound = numbers["noise"] * NOISE_FACTOR
    return numbers["corrected"] <= bound and numbers["uncorrected"] > 2 * bound


def sampling_line(numbers: Mapping[str, float]) -> str:
    """Put the distances into words."""
    return (
        f"distance of sampled text from the plain server's: {numbers['corrected']:.2f} with the plugin, "
        f"{numbers['uncorrected']:.2f} without; two samples of the plain server differ by {numbers['noise']:.2f}"
    )


def measure(baseline: bool) -> int:
    """Measure the pair unless its numbers are known, print them, and return 1 unless they are as they must be."""
    folder = store.ensure()
    proof = folder / store.PROOF
    known = json.loads(proof.read_text(encoding="utf-8")) if proof.exists() else {}
    if "speculating" not in known or (baseline and "plain" not in known):
        words = (str(folder), str(proof), *(("--plain",) if baseline else ()))
        store.run("the measurement of the tiny models", folder, "lab.engine.measure", *words)
        known = json.loads(proof.read_text(encoding="utf-8"))
    for line in lines(known):
        print(line)
    return 0 if holds(known) else 1


def sampling() -> int:
    """Measure the plugin's effect, print it, and return 1 unless it is as it must be."""
    folder = store.ensure()
    numbers = folder / "sampling.json"
    store.run("the measurement of sampling", folder, "lab.engine.sampling", str(folder), str(numbers))
    measured = json.loads(numbers.read_text(encoding="utf-8"))
    print(sampling_line(measured))
    return 0 if sampling_holds(measured) else 1
