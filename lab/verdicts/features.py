"""The numbers of docs/works-with.md: how many recorded configurations have a feature beside speculation."""

import json
import pathlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from hack.pages import filled
from tests.unit.engine.cases import KINDS, VERDICTS

from lab.verdicts.judge import judge

Line = Mapping[str, Any]
_SERIES: Final = ("vllm-[0-9]*.jsonl", "drawn-[0-9]*.jsonl")


def _given(name: str) -> Callable[[Line], bool]:
    return lambda line: bool((line.get("engine_args") or {}).get(name))


def _several(name: str) -> Callable[[Line], bool]:
    return lambda line: (line.get("engine_args") or {}).get(name) not in (None, 1)


def _target(line: Line) -> Mapping[str, Any]:
    found = KINDS.get(str(line.get("target")))
    return found if isinstance(found, dict) else {}


FEATURES: Final[Mapping[str, Callable[[Line], bool]]] = MappingProxyType(
    {
        "LoRA (`--enable-lora`)": _given("enable_lora"),
        "a quantised target": lambda line: "quantization_config" in _target(line) or _given("quantization")(line),
        "a vision model as target": lambda line: "vision_config" in _target(line),
        "prefix caching, on or off by name": lambda line: "enable_prefix_caching" in (line.get("engine_args") or {}),
        "chunked prefill, on or off by name": lambda line: "enable_chunked_prefill" in (line.get("engine_args") or {}),
        "a KV connector (prefill and decode apart)": _given("kv_transfer_config"),
        "tensor parallelism": _several("tensor_parallel_size"),
        "pipeline parallelism": _several("pipeline_parallel_size"),
        "data parallelism": _several("data_parallel_size"),
    }
)
"""What a configuration has, by the name that the page gives it."""


@dataclass(slots=True)
class Count:
    """judged: with the feature and speculation. accepted: by the engine. `alike`: our rules agree with the engine."""

    judged: int = 0
    accepted: int = 0
    alike: int = 0


def counts() -> dict[str, Count]:
    """Of every feature."""
    found = {name: Count() for name in FEATURES}
    for line in _recorded():
        names = [name for name, has in FEATURES.items() if has(line)]
        if not names or not line.get("speculative_config"):
            continue
        alike = judge(line, KINDS)["engine_ok"] == line["ok"]
        for name in names:
            count = found[name]
            count.judged, count.accepted = count.judged + 1, count.accepted + bool(line["ok"])
            count.alike += alike
    return found


def _recorded() -> Iterator[Line]:
    for file in sorted(path for series in _SERIES for path in pathlib.Path(VERDICTS).glob(series)):
        yield from map(json.loads, file.read_text(encoding="utf-8").splitlines())


def page(text: str) -> str:
    """docs/works-with.md with its table of recorded configurations."""
    return filled(text, "docs/works-with.md", {"verdicts": {"counts": counts()}})
