"""python -m hack.models            trains the pair where it is missing and prints its folder
python -m hack.models check      proves with the real vLLM that its drafts are good on code and worthless on drift
python -m hack.models measure    the same, and the speed against the plain server
python -m hack.models sampling   proves that the plugin keeps the distribution of sampled text, and that it is needed
"""

from __future__ import annotations

import json
import sys

from hack.cluster.errors import ClusterError
from hack.images import box
from hack.models import store, verdict


def measure(plain: bool) -> int:
    """Measure the pair unless its numbers are known, print them, and say whether they are as they must be."""
    folder = store.ensure()
    proof = folder / store.PROOF
    known = json.loads(proof.read_text(encoding="utf-8")) if proof.exists() else {}
    if "speculating" not in known or (plain and "plain" not in known):
        arguments = ("hack.models.measure", str(folder), str(proof), *(("--plain",) if plain else ()))
        code = box.run(arguments, folder, store.image())
        if code != 0:
            raise ClusterError(f"the measurement of the tiny models ended with code {code}; its words are above")
        known = json.loads(proof.read_text(encoding="utf-8"))
    for line in verdict.lines(known):
        print(line)
    return 0 if verdict.holds(known) else 1


def sampling() -> int:
    """Measure what the plugin does, print it, and say whether it is as it must be."""
    folder = store.ensure()
    numbers = folder / "sampling.json"
    code = box.run(("hack.models.sampling", str(folder), str(numbers)), folder, store.image())
    if code != 0:
        raise ClusterError(f"the measurement of sampling ended with code {code}; its words are above")
    measured = json.loads(numbers.read_text(encoding="utf-8"))
    print(verdict.sampling_line(measured))
    return 0 if verdict.sampling_holds(measured) else 1


def main(words: list[str]) -> int:
    """Run one command."""
    match words:
        case []:
            print(store.ensure())
            return 0
        case ["check"]:
            return measure(plain=False)
        case ["measure"]:
            return measure(plain=True)
        case ["sampling"]:
            return sampling()
        case _:
            print(__doc__)
            return 2


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except ClusterError as error:
        sys.exit(f"error: {error}")
