"""docs/engine.md with its tables, out of what the runs left in docs/engine/, and the image in figures."""

import json
import statistics
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from hack import images
from hack.images import tool
from hack.machine import sentence
from hack.pages import block, filled, share

from lab.engine import cases
from lab.engine.faults import ALL, Layer

FOLDER: Final = Path(__file__).parents[2] / "docs" / "engine"
_Found = Mapping[str, Any]


def page(text: str, folder: Path = FOLDER) -> str:
    """The page with its tables as the last runs left them. Raises ValueError where marks are missing."""
    names = ("methods", "faults", "bench", "image")
    found = {each: _kept(each, folder) for each in names}
    found["methods"] |= _tokens()
    found["elsewhere"] = dict(found["methods"])
    found["faults"] |= _caught(found["faults"]["runs"])
    found["bench"] |= _speeds(found["bench"])
    found["gpu"] = {"tables": _on_gpu(folder)}
    first = found["methods"]["made"]
    for name in ("elsewhere", "faults", "bench", "image"):
        found[name] |= {"made": "" if found[name]["made"] == first else found[name]["made"]}
    return filled(text, "docs/engine.md", found)


def _on_gpu(folder: Path) -> dict[str, str]:
    """The same tables of the runs on a GPU that there are."""
    made = {}
    for name, more in {"methods": None, "faults": _caught, "bench": _speeds}.items():
        if (folder / f"gpu-{name}.json").exists():
            found = _kept(f"gpu-{name}", folder)
            known = _tokens() if more is None else more(found["runs"] if name == "faults" else found)
            made[name] = block("engine.md", name, {**found, **known})
    return made


def _tokens() -> dict[str, Any]:
    """K of each method that was run."""
    return {"k": {each.name: each.speculation["tokens"] for each in cases.METHODS}}


def _caught(runs: _Found) -> dict[str, Any]:
    """How many faults each layer found, and how soon; and by layer and reason the faults."""
    methods = {each.what: each.asked().speculation["method"] for each in ALL}
    rows: dict[str, dict[str, list[str]]] = {}
    for name, each in runs.items():
        shown = name if methods[name] == "draft_model" else f"{name} ({methods[name]})"
        rows.setdefault(each["layer"], {}).setdefault(each["reason"] or "", []).append(shown)
    return {"caught": [_count(layer, runs) for layer in Layer], "layers": rows}


def _count(layer: Layer, runs: _Found) -> str:
    """The faults that a layer found, and the shortest and the longest time that it took."""
    name, form = ("windows", ".0f") if layer is Layer.GUARD else ("seconds", ".1f")
    spans = sorted(each[name] for each in runs.values() if each["layer"] == layer)
    ends = dict.fromkeys(f"{each:{form}}" for each in (*spans[:1], *spans[-1:]))
    return f"{len(spans)} found by {layer} ({' to '.join(ends)} {name.replace('seconds', 's')})"


def _speeds(found: _Found) -> dict[str, Any]:
    """Tokens per second against the baseline engine of the same round, by kind of prompt and number of clients."""
    counts = [str(each) for each in found["clients"]]
    bases = {**{each: each for each in found["bases"].values()}, **found["bases"]}
    rows = []
    for name, base in bases.items():
        rounds = [each for group in found["groups"] for each in group if name in each]
        speeds = [_speed(rounds, name, base, kind, counts) for kind in ("code", "drift")]
        rows.append([name, *speeds, *_costs([each[name] for each in rounds])])
    return {"rows": rows}


def _speed(rounds: list[_Found], name: str, base: str, kind: str, clients: list[str]) -> str:
    """For each number of clients, a baseline engine's tokens per second, or a method's ratio to it: the medians of the
    rounds, and the smallest and the largest of all ratios.
    """
    own = [[each[name][kind][count]["tokens_per_second"] for each in rounds] for count in clients]
    if name == base:
        return " / ".join(f"{_median(each):.0f}" for each in own)
    baseline = [[each[base][kind][count]["tokens_per_second"] for each in rounds] for count in clients]
    ratios = [[one / other for one, other in zip(*each, strict=True)] for each in zip(own, baseline, strict=True)]
    ends = sorted(one for each in ratios for one in each)
    return f"{' / '.join(f'{_median(each):.2f}' for each in ratios)} ({ends[0]:.2f}-{ends[-1]:.2f})"


def _costs(rounds: list[_Found]) -> Iterator[str]:
    """Acceptance, times and memory of one engine, medians."""
    one = [each["code"]["1"] for each in rounds]
    yield share(_median(each["code"]["counters"]["acceptance"] or 0.0 for each in rounds) or None)
    yield f"{_median(each['tpot_ms'] for each in one):.2f} ms, {_median(each['ttft_ms'] for each in one):.1f} ms"
    yield f"{_median(each['ready_seconds'] for each in rounds):.0f} s"
    memory = f"{_median(each['memory'] for each in rounds) / 2**30:.2f} GiB"
    taken = [each["device_memory"] for each in rounds if "device_memory" in each]
    yield f"{memory}, {_median(taken) / 2**30:.2f} GiB of the device" if taken else memory


def image() -> dict[str, str]:
    """The image's size, and its start in the runs of methods and faults: their files must exist."""
    groups, refused = _kept("bench")["groups"], _kept("faults")["runs"].values()
    first = [group[0] for group in groups]
    up, baseline = (
        [each for engines in first for each in engines.values()],
        [each["plain"] for each in first if "plain" in each],
    )
    caught = [each["seconds"] for each in refused if each["layer"] == Layer.PREFLIGHT]
    return {
        "size of the cpu image": tool.choose().size(images.refs().runtime),
        "until the startup probe passed, baseline": _spread((each["ready_seconds"] for each in baseline), ".0f"),
        f"until the startup probe passed, {len(up)} starts of methods and baselines": _spread(
            (each["ready_seconds"] for each in up), ".0f"
        ),
        "duration of the probe that passed": _spread((each["prove_seconds"] for each in up), ".2f"),
        f"rejected by the preflight, {len(caught)} faults": _spread(caught, ".1f"),
    }


def _kept(name: str, folder: Path = FOLDER) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return found | {"made": f"*{sentence(found)} Image {found['image']}.*"}


def _spread(values: Iterable[float], form: str) -> str:
    """Return the median with the smallest and the largest."""
    known = sorted(values)
    return f"{statistics.median(known):{form}} s ({known[0]:{form}}-{known[-1]:{form}})"


def _median(values: Iterable[float]) -> float:
    return statistics.median(values)
