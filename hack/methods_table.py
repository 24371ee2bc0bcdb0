"""The README's table of methods by accelerator: what the operator knows of each, and the runs in docs/engine."""

import json
import pathlib
from collections.abc import Iterator
from typing import Final

from specdec_operator.advice.facts import MethodAdvice
from specdec_operator.advice.methods import METHODS, release_for, runs_on
from specdec_operator.engine.builds import IMAGES, build_of

_RUNS: Final = pathlib.Path(__file__).parents[1] / "docs" / "engine" / "methods.json"
_NAMES: Final = {"nvidia": "NVIDIA", "ascend": "Ascend", "cpu": "CPU"}


def table() -> str:
    """A row a method: since which engine it runs on each accelerator, and whether this project has run it."""
    heads = [f"{name} (vLLM{'-Ascend' if key == 'ascend' else ''} {IMAGES[key]})" for key, name in _NAMES.items()]
    lines = [f"| method | guesses from | {' | '.join(heads)} |", f"|{'---|' * (2 + len(heads))}"]
    return "\n".join([*lines, *_rows()]) + "\n"


def _rows() -> Iterator[str]:
    tried = json.loads(_RUNS.read_text(encoding="utf-8"))["runs"]
    for name, advice in METHODS.items():
        if not advice.releases:
            continue  # no engine runs it
        cells = [_cell(advice, accelerator, "compared" in tried.get(name, {})) for accelerator in _NAMES]
        yield f"| [`{name}`](docs/methods.md#{name}) | {advice.needs.value} | {' | '.join(cells)} |"


def _cell(advice: MethodAdvice, accelerator: str, tried: bool) -> str:
    build = build_of(accelerator, None)
    release = release_for(advice, build.flavor)
    if release is None:
        return "-"
    since = f"≥ {release.since}" if not release.until else f"{release.since} to {release.until}"
    if not runs_on(advice, build):
        return f"{since}, not in this image"
    return f"{since}, **run here**" if accelerator == "cpu" and tried else since
