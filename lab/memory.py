"""The page docs/memory.md: its text, what was measured, and a table of public pairs as the operator plans them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml
from hack.machine import sentence
from hack.pages import render

from specdec_engine.case import ModelFolderFacts
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
    """memory: of one device, as its nodes' labels have it; of a container on a CPU. shown: as a column of the page."""

    name: str
    memory: str
    accelerator: str = "nvidia"
    shown: bool = False


DEVICES: Final = (
    Device(name="RTX 4090", memory="24564Mi"),
    Device(name="A10", memory="23028Mi"),
    Device(name="A30", memory="24576Mi"),
    Device(name="L4", memory="23034Mi", shown=True),
    Device(name="L40S", memory="46068Mi", shown=True),
    Device(name="A100 40", memory="40960Mi"),
    Device(name="A100 80", memory="81920Mi"),
    Device(name="H100 80", memory="81559Mi", shown=True),
    Device(name="H200", memory="143771Mi", shown=True),
    Device(name="B200", memory="183359Mi"),
    Device(name="910B 64", memory="65536Mi", accelerator="ascend", shown=True),
    Device(name="CPU 24Gi", memory="24Gi", accelerator="cpu"),
)


@cache
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
    known = None if draft is None else ModelFolderFacts(path="", config=draft)
    request = translate(spec, draft_path=DRAFT_PATH, target=ModelFolderFacts(path="", config=config), draft=known)
    return budget(spec, request)


def fitting(pair: Mapping[str, Any], device: Device) -> dict[str, Any] | None:
    """The plan of a pair on as few devices as it fits; None if it does not fit."""
    for parallel in _PARALLEL if device.accelerator != "cpu" else (1,):
        made = planned(pair, device, parallel)
        if made.fits:
            cache = {"kvTokens": made.kv_tokens, "kvTokensBaseline": made.baseline_kv_tokens}
            return {"devices": parallel, "gpuMemoryUtilization": made.utilization, **cache}
    return None


def cell(plan: Mapping[str, Any] | None) -> str:
    """Devices if several, thousand tokens of KV cache, and what speculation takes of them."""
    if plan is None:
        return "no"
    devices = f"{plan['devices']} x " if plan["devices"] > 1 else ""
    return f"{devices}{_thousands(plan['kvTokens'] or 0)}, {_price(plan)}"


def _thousands(tokens: int) -> str:
    return f"{tokens / 1000:.0f}k" if tokens >= 10_000 else f"{tokens / 1000:.1f}k"


def _price(plan: Mapping[str, Any]) -> str:
    plain, tokens = plan["kvTokensBaseline"] or 0, plan["kvTokens"] or 0
    return f"{round(100 * (tokens - plain) / plain):d}%".replace("-", "\u2212") if plain else "?"


@cache
def plans() -> tuple[dict[str, Any], ...]:
    """Every pair, and its plan by the name of the device."""
    return tuple({**pair, "plans": {each.name: fitting(pair, each) for each in DEVICES}} for pair in pairs()[1])


def data() -> str:
    """docs/memory/planned.json: the plans of all pairs on all devices."""
    rows = [{name: value for name, value in each.items() if name != "page"} for each in plans()]
    return json.dumps({"maxModelLen": _LENGTH, "pairs": rows}, indent=1) + "\n"


def page() -> str:
    """docs/memory.md."""
    shown = [each.name for each in DEVICES if each.shown]
    rows = [
        (f"`{each['method']}` {each['tokens']}", _models(each), *(cell(each["plans"][name]) for name in shown))
        for each in plans()
        if "page" in each
    ]
    versions = {each: str(build_of(each, None)) for each in ("nvidia", "ascend", "cpu")}
    found = {"pairs": _measured("pairs"), "killed": _measured("out_of_memory")}
    others = [each.name for each in DEVICES if not each.shown]
    return render("memory.md", devices=shown, others=others, rows=rows, length=_LENGTH, versions=versions, **found)


def _models(pair: Mapping[str, Any]) -> str:
    """Target and draft, without the owner of the draft if both have the same."""
    target, draft = pair["target"], pair.get("draft", "")
    owner = target.partition("/")[0] + "/"
    return f"{target} + {draft.removeprefix(owner)}" if draft else target


def _measured(name: str) -> dict[str, Any]:
    """A file that `make bench-memory` wrote, with the sentence about its origin."""
    found: dict[str, Any] = json.loads((_MEASURED / f"{name}.json").read_text(encoding="utf-8"))
    return found | {"made": sentence(found)}
