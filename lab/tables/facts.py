"""What the tables hold of one release, asked of the engine that is installed; runs in that engine's interpreter.

    PYTHON lab/tables/facts.py OUT.json

Needs nothing of this repository except, with torch_npu, the stand-in for CANN. Works without a device: CUDA's wheels
need VLLM_TARGET_DEVICE=cpu and nothing else. A part that a release does not have is not written, and is reported.
"""

import argparse
import importlib
import importlib.util
import inspect
import json
import os
import sys
import typing
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

os.environ.setdefault("VLLM_TARGET_DEVICE", "cpu")
os.environ.update(HF_HUB_OFFLINE="1", VLLM_NO_USAGE_STATS="1", TORCH_DEVICE_BACKEND_AUTOLOAD="0", VLLM_PLUGINS="")
GIB = 1 << 30
SIZES = (24, 48, 80, 141, 180, 288)
"""Memory of devices in GiB, for which the engine is asked what it fills in."""
CHOICES = ("runner", "convert", "mamba_cache_mode", "scheduling_policy", "dtype", "kv_cache_dtype")
MORE_CHOICES = ("performance_mode", "per_request_spec_decode_metrics", "all2all_backend", "reasoning_parser")


def found(*places: str) -> Any:
    """The first of `module:name` that there is. Raises ImportError where none is."""
    for place in places:
        module, _, name = place.partition(":")
        try:
            return getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError):
            continue
    raise ImportError(f"none of {', '.join(places)}")


def parser() -> argparse.ArgumentParser:
    """The server's own parser."""
    flexible = found("vllm.utils.argparse_utils:FlexibleArgumentParser", "vllm.utils:FlexibleArgumentParser")
    homes = ("common", "launchers", "openai")
    make = found(*(f"vllm.entrypoints.{home}.cli_args:make_arg_parser" for home in homes))
    made: argparse.ArgumentParser = make(flexible())
    return made


def flags() -> dict[str, Any]:
    """Every flag with its kind, its short names and the values that it takes."""
    actions = [each for each in parser()._actions if each.dest != "help"]  # argparse has no other list of them
    named = {each.dest: each for each in actions if each.option_strings}
    choices = {name: each.choices for name, each in named.items() if name in (*CHOICES, *MORE_CHOICES)}
    short = {text.lstrip("-"): name for name, each in named.items() for text in each.option_strings if is_short(text)}
    return {
        "flags": sorted({each.dest for each in actions}),
        "kinds": {name: kind(each) for name, each in named.items()},
        "values": {name: sorted(map(str, each)) for name, each in choices.items() if each},
        "short": short,
        "defaults": {name: plain(each.default) for name, each in named.items()},
    }


def is_short(text: str) -> bool:
    """Whether a flag is written with one dash."""
    return text.startswith("-") and not text.startswith("--")


def kind(action: argparse.Action) -> str:
    """The tables' word for a flag's value; empty for texts."""
    if isinstance(action, argparse.BooleanOptionalAction) or action.nargs == 0:
        return "bool"
    if action.nargs in ("*", "+"):
        return "list"
    if not isinstance(read(action, "{}"), str):
        return "json"
    probes = (("int", "7", int), ("float", "0.5", float))
    return next((word for word, text, wanted in probes if type(read(action, text)) is wanted), "")


def read(action: argparse.Action, text: str) -> object:
    """A word as the flag reads it."""
    reader = action.type
    try:
        return reader(text) if callable(reader) else text
    except Exception:  # whatever a reader of a release raises for a word that it does not take
        return text


def plain(value: object) -> object:
    """A default that JSON can hold; None for others."""
    return value if isinstance(value, bool | int | float | str) else None


def speculation() -> dict[str, Any]:
    """Methods, and the keys of the speculative configuration with what they take."""
    module = importlib.import_module("vllm.config.speculative")
    hints = typing.get_type_hints(module.SpeculativeConfig, include_extras=False)
    fields = {name: str(hints[name]) for name in module.SpeculativeConfig.__dataclass_fields__ if name in hints}
    return {
        "methods": sorted(words(module.SpeculativeMethod)),
        "mtp": sorted(words(module.MTPModelTypes)),
        "keys": fields,
    }


def words(literal: Any) -> set[str]:
    """The words of a Literal, of those inside it too."""
    return {inner for each in typing.get_args(literal) for inner in ([each] if isinstance(each, str) else words(each))}


def values() -> dict[str, list[str]]:
    """Lists of words that keys and flags take."""
    quantization = importlib.import_module("vllm.model_executor.layers.quantization")
    backends = found(
        "vllm.v1.attention.backends.registry:AttentionBackendEnum", "vllm.attention.backends.registry:_Backend"
    )
    load = found("vllm.config.load:LoadConfig", "vllm.config:LoadConfig")
    said: dict[str, Iterable[Any]] = {
        "quantization": quantization.QUANTIZATION_METHODS,
        "deprecated_quantization": getattr(quantization, "DEPRECATED_QUANTIZATION_METHODS", ()),
        "kv_cache_dtype": words(found("vllm.config.cache:CacheDType")),
        "attention_backend": backends.__members__,
        "load_config": load.__dataclass_fields__,
        "cudagraph_mode": found("vllm.config.compilation:CUDAGraphMode", "vllm.config:CUDAGraphMode").__members__,
    }
    try:
        said["moe_backend"] = words(found("vllm.config.kernel:MoEBackend"))
    except ImportError as lacks:
        print(f"no moe_backend: {lacks}", file=sys.stderr)
    return {name: sorted(map(str, each)) for name, each in said.items()}


KINDS: dict[str, Callable[[Any], bool]] = {
    "no_pipeline": lambda info: not info.supports_pp,
    "no_adapters": lambda info: not info.supports_lora,
    "embedding_only": lambda info: info.is_pooling_model and not info.is_text_generation_model,
    "recurrent": lambda info: info.has_inner_state or info.is_hybrid,
    "multimodal": lambda info: info.supports_multimodal,
}


def architectures() -> dict[str, Any]:
    """The registry, and what the classes declare of themselves; `unread` ones could not be imported here."""
    registry = importlib.import_module("vllm.model_executor.models.registry")
    eagle3 = found("vllm.model_executor.models.interfaces:supports_eagle3")
    holds: dict[str, list[str]] = {name: [] for name in (*KINDS, "gives_hidden_states", "unread")}
    names = sorted(registry.ModelRegistry.get_supported_archs())
    for name in names:
        try:
            made = registry.ModelRegistry.models[name].load_model_cls()
            info = registry._ModelInfo.from_model_cls(made)  # what the engine's own inspection makes of a class
        except Exception as lacks:  # a class may fall over any library or device that is not here
            holds["unread"].append(name)
            print(f"{name}: {type(lacks).__name__}: {str(lacks)[:100]}", file=sys.stderr)
            continue
        for each in [word for word, test in KINDS.items() if test(info)]:
            holds[each].append(name)
        if eagle3(made):
            holds["gives_hidden_states"].append(name)
    return {"registered": names, **holds}


def model_types() -> dict[str, Any]:
    """The model types that configs may have, and the classes of transformers that the engine can run."""
    transformers = importlib.import_module("transformers")
    mapping = found("transformers.models.auto.configuration_auto:CONFIG_MAPPING_NAMES")
    registry = importlib.import_module("vllm.transformers_utils.config")._CONFIG_REGISTRY
    backend = [name for name in dir(transformers) if not name.endswith("PreTrainedModel") and runs(transformers, name)]
    return {"known": sorted({*registry, *mapping}), "transformers_backend": sorted(backend)}


def runs(library: object, name: str) -> bool:
    """Whether the engine's own check of a class of transformers holds."""
    try:
        made = getattr(library, name)
        test = getattr(made, "is_backend_compatible", None)
        return inspect.isclass(made) and test is not None and bool(test())
    except Exception:  # a class of transformers may ask for libraries that are not here
        return False


def batches() -> list[dict[str, Any]]:
    """What the engine fills in for batches, by the device's memory, for the server."""
    arguments, context = found("vllm.engine.arg_utils:EngineArgs"), found("vllm.usage.usage_lib:UsageContext")
    kind = type(found("vllm.platforms:current_platform"))
    rows = []
    for size in SIZES:
        kind.get_device_total_memory = classmethod(lambda _, *__, gib=size: gib * GIB)
        kind.get_device_name = classmethod(lambda *_, **__: "a device")
        kind.is_cpu = lambda _: False
        tokens, requests = arguments.get_batch_defaults(1)
        server = context.OPENAI_API_SERVER
        rows.append({"gib": size, "tokens": tokens.get(server), "requests": requests.get(server)})
    return rows


PARTS = (flags, speculation, values, architectures, model_types, batches)


def main(out: str) -> None:
    """Collect every part, and write the answers."""
    if importlib.util.find_spec("torch_npu"):
        sys.path.append(str(Path(__file__).parents[2]))
        importlib.import_module("lab.verdicts.standin").load("cann")
    platforms: Any = importlib.import_module("vllm.platforms")
    if not platforms.current_platform.device_type:  # built without a device, as for NPUs
        platforms._current_platform = found("vllm.platforms.cpu:CpuPlatform")()
    told: dict[str, Any] = {"version": found("vllm:__version__").partition("+")[0]}
    try:
        told["ascend"] = importlib.import_module("vllm_ascend._version").version
    except (ImportError, AttributeError):
        told["ascend"] = None
    for part in PARTS:
        try:
            told[part.__name__] = part()
        except (ImportError, AttributeError, TypeError, KeyError) as lacks:
            print(f"{part.__name__} could not be read here: {lacks!r}", file=sys.stderr)
    with open(out, "w", encoding="utf-8") as file:
        json.dump(told, file, indent=1, sort_keys=True)


if __name__ == "__main__":
    main(sys.argv[1])
