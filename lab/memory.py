"""The page docs/memory.md: its text, what was measured, and a table of public pairs as the operator plans them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import yaml
from hack.machine import sentence
from hack.pages import render

from specdec_engine.case import Model
from specdec_engine.memory.plan import MemoryPlan
from specdec_operator.engine.budget import budget
from specdec_operator.engine.build import build_of
from specdec_operator.engine.translate import translate
from specdec_operator.staging.layout import DRAFT_PATH

_LENGTH: Final = 8192
"""Tokens of the longest request, or what the model was made for where that is less."""
_PARALLEL: Final = (1, 2, 4, 8)
_DATA: Final = Path(__file__).with_name("memory_pairs.yaml")
_MEASURED: Final = Path(__file__).parents[1] / "docs" / "memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A column. memory: of one device, as its nodes' labels have it; of a container on a CPU."""

    name: str
    memory: str
    accelerator: str = "nvidia"


DEVICES: Final = (
    Device(name="RTX 4090", memory="24564Mi"),
    Device(name="A10", memory="23028Mi"),
    Device(name="A30", memory="24576Mi"),
    Device(name="L4", memory="23034Mi"),
    Device(name="L40S", memory="46068Mi"),
    Device(name="A100 40", memory="40960Mi"),
    Device(name="A100 80", memory="81920Mi"),
    Device(name="H100 80", memory="81559Mi"),
    Device(name="H200", memory="143771Mi"),
    Device(name="B200", memory="183359Mi"),
    Device(name="910B 64", memory="65536Mi", accelerator="ascend"),
    Device(name="CPU 24Gi", memory="24Gi", accelerator="cpu"),
)


@lru_cache
def pairs() -> tuple[dict[str, Any], tuple[dict[str, Any], ...]]:
    """The models' configs by name, and the pairs."""
    data = yaml.safe_load(_DATA.read_text(encoding="utf-8"))
    return data["models"], tuple(data["pairs"])


def planned(pair: Mapping[str, Any], device: Device, parallel: int) -> MemoryPlan:
    """The plan of a pair on so many devices, with the models' sizes known."""
    models, _ = pairs()
    config, draft = models[pair["target"]], models.get(pair.get("draft", ""))
    speculation = {"method": pair["method"], "tokens": pair["tokens"]}
    spec: dict[str, Any] = {
        "engine": {
            "accelerator": device.accelerator,
            "tensorParallelSize": parallel,
            "maxModelLen": min(_LENGTH, config["max_position_embeddings"]),
        },
        "speculation": speculation | ({"draft": {"uri": "pvc://models/draft"}} if "draft" in pair else {}),
        "memory": {"device": device.memory},
    }
    known = None if draft is None else Model(path="", config=draft)
    request = translate(spec, draft_path=DRAFT_PATH, target=Model(path="", config=config), draft=known)
    return budget(spec, request)


def cell(pair: Mapping[str, Any], device: Device) -> str:
    """Utilisation, thousand tokens of KV cache and what speculation takes of them, on as few devices as it fits."""
    for parallel in _PARALLEL if device.accelerator != "cpu" else (1,):
        made = planned(pair, device, parallel)
        if made.fits:
            share = "" if made.utilization is None else f"{made.utilization:g}, "
            devices = f"{parallel} x " if parallel > 1 else ""
            return f"{devices}{share}{_thousands(made.kv_tokens or 0)}, {_price(made)}"
    return "no"


def _thousands(tokens: int) -> str:
    return f"{tokens / 1000:.0f}k" if tokens >= 10_000 else f"{tokens / 1000:.1f}k"


def _price(made: MemoryPlan) -> str:
    plain, tokens = made.plain_kv_tokens or 0, made.kv_tokens or 0
    return f"{round(100 * (tokens - plain) / plain):d} %".replace("-", "\u2212") if plain else "?"


def page() -> str:
    """docs/memory.md."""
    rows = [
        (
            f"`{pair['method']}` {pair['tokens']}",
            pair["target"],
            pair.get("draft", ""),
            *(cell(pair, d) for d in DEVICES),
        )
        for pair in pairs()[1]
    ]
    versions = {each: str(build_of(each, None)) for each in ("nvidia", "ascend", "cpu")}
    found = {"pairs": _measured("pairs"), "killed": _measured("out_of_memory")}
    return render("memory.md", devices=DEVICES, rows=rows, length=_LENGTH, versions=versions, **found)


def _measured(name: str) -> dict[str, Any]:
    """A file that `make bench-memory` wrote, with the sentence about its origin."""
    found: dict[str, Any] = json.loads((_MEASURED / f"{name}.json").read_text(encoding="utf-8"))
    return found | {"made": sentence(found)}
