"""python -m lab.engine methods   every method on the real engine, its answers against the baseline engine's.
python -m lab.engine faults    every fault, and what catches it.
python -m lab.engine bench     every method against the baseline engine, with 1, 4 and 8 clients.
python -m lab.engine dial      the dial: equal answers, its cost at rest, and the speed at each end of it.
python -m lab.engine image     size of the image, and seconds from its start to a proven server.
python -m lab.engine pair      whether the tiny pair is what the tests need: good on code, worthless on drift.
python -m lab.engine speed     the same, and the speed against the baseline server.
python -m lab.engine sampling  whether the plugin keeps the distribution of sampled text, and is needed for that.

The first five run in the runtime image, minutes long. Each writes docs/engine/NAME.json, which docs/engine.md is made
of. With SPECDEC_ACCELERATOR=nvidia the first four run on this machine's first GPU and write docs/engine/gpu-NAME.json:
`make bench-gpu` is all of them. The file of `dial` is docs/dial/engine.json, or gpu.json.
"""

import json
from pathlib import Path
from typing import Any

from hack.cluster.errors import ClusterError
from hack.command import run
from hack.machine import origin

from lab.engine import cases, page, pair, place, runs
from lab.engine.faults import ALL
from lab.engine.faulty import SAID


def methods() -> dict[str, Any]:
    """The result of every method; of one that did not start, the engine's error."""
    return {"runs": {name: _short(each) for name, each in runs.methods().items()}}


def _short(found: dict[str, Any]) -> dict[str, Any]:
    """Of an engine that did not start, its code and the runtime's final error, which has the engine's."""
    if "log" not in found:
        return found
    said = [match for line in found["log"] if (match := SAID.match(line))]
    return {"exit": found["exit"], "error": ": ".join(said[-1].groups()) if said else found["log"][-1]}


def bench() -> dict[str, Any]:
    """All groups of engines that were asked in turn, and the baseline engine of each method."""
    groups = runs.bench()
    names = {name for rounds in groups for name in rounds[0]}
    bases = {each.name: runs.base(each) for each in cases.split()[0] if each.name in names}
    return {"groups": groups, "bases": bases, "clients": list(runs.CLIENTS)}


def main(words: list[str]) -> int:
    """Run one command and write its file."""
    checks = {"pair": lambda: pair.measure(baseline=False), "speed": lambda: pair.measure(baseline=True)}
    checks["sampling"] = pair.sampling
    if len(words) == 1 and words[0] in checks:
        return checks[words[0]]()
    known: dict[str, Any] = {
        "methods": methods,
        "faults": lambda: {"runs": runs.faults(ALL)},
        "bench": bench,
        "dial": lambda: {"measured": runs.dial()},
        "image": lambda: {"measured": page.image()},
    }
    if len(words) != 1 or words[0] not in known:
        print(__doc__)
        return 2
    if words == ["image"] and place.chosen().prefix:
        raise ClusterError(f"image: it is about the cpu image; leave {place.ACCELERATOR} out")
    found = {"origin": origin() | {"device": place.chosen().device()}, "image": place.image_name(), **known[words[0]]()}
    _file(words[0]).parent.mkdir(exist_ok=True)
    _file(words[0]).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


def _file(name: str) -> Path:
    prefix = place.chosen().prefix
    if name == "dial":
        return page.FOLDER.parent / "dial" / ("gpu.json" if prefix else "engine.json")
    return page.FOLDER / f"{prefix}{name}.json"


if __name__ == "__main__":
    run(main)
