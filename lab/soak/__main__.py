"""`python -m lab.soak --services 200 --minutes 30 --out docs/soak`: the soak, its numbers and its picture.

Ends with code 1, and prints why, if an invariant does not hold.
"""

import argparse
import asyncio
import json
import pathlib
import tempfile
from collections.abc import Sequence
from dataclasses import asdict

from hack import drawing
from hack.machine import origin
from matplotlib.figure import Figure

from lab.soak.run import SoakResult, soak
from lab.soak.samples import Sample


def draw(samples: Sequence[Sample], *files: pathlib.Path) -> None:
    """Draws into files; their suffixes set the format."""
    minutes = [each.at / 60 for each in samples]
    with drawing.style():
        figure = Figure(figsize=(9, 5))
        memory, counts = figure.subplots(2, 1, sharex=True)
        memory.plot(minutes, [each.rss_mb for each in samples], color=drawing.BLUE)
        memory.set(ylabel="memory, MiB", ylim=(0, None))
        for name, colour in (("tasks", drawing.GREEN), ("loops", drawing.GREY), ("files", drawing.RED)):
            counts.plot(minutes, [getattr(each, name) for each in samples], color=colour, label=name)
        counts.set(xlabel="minutes", ylim=(0, None))
        counts.legend(ncols=3)
        drawing.save(figure, *files)


def write(found: SoakResult, out: pathlib.Path) -> None:
    """soak.json, soak.svg and soak.png into a folder."""
    out.mkdir(parents=True, exist_ok=True)
    samples = [{key: value for key, value in asdict(each).items() if key != "names"} for each in found.samples]
    text = {
        "origin": origin(),
        "numbers": found.numbers,
        "done": found.done,
        "wrong": found.wrong,
        "samples": samples,
    }
    (out / "soak.json").write_text(json.dumps(text, indent=1) + "\n")
    draw(found.samples, out / "soak.svg", out / "soak.png")


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m lab.soak", description=__doc__)
    parser.add_argument("--services", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=30.0, help="of churn; making and settling come besides")
    parser.add_argument("--seed", type=int, default=9)
    parser.add_argument("--out", type=pathlib.Path, help="folder for soak.json and the picture")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(soak(asked.services, 60 * asked.minutes, pathlib.Path(folder), seed=asked.seed))
    for name, value in found.numbers.items():
        print(f"  {name:<24}{value:>12.2f}")
    print("  done:", dict(found.done))
    if asked.out:
        write(found, asked.out)
    if found.wrong:
        raise SystemExit("\n".join(["what must hold does not:", *found.wrong]))
    print("everything holds")


if __name__ == "__main__":
    main()
