"""Reads the few vLLM flags that preflight and prove need, and passes no judgement on the others.

Both spellings are read, `--name=value` and `--name value`, with dashes or underscores, as vLLM does; the last one wins.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from specdec_engine.methods import WITHOUT_DRAFT
from specdec_runtime.refusal import Refusal, RefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SPECULATIVE = ("speculative-config", "sc")
_SPREADING = {
    "cpu-offload-gb",
    "offload-backend",
    "enable-expert-parallel",
    "ep",
    "enable-eplb",
    "data-parallel-size",
    "dp",
}
_SHORT = {"tp": "tensor-parallel-size", "pp": "pipeline-parallel-size", "q": "quantization"}
DEFAULT_PORT = 8000


@dataclass(frozen=True, kw_only=True, slots=True)
class Flags:
    """What the command line says about the models."""

    model: str
    speculation: Mapping[str, object] | None
    port: int
    max_model_len: int | None
    load_format: str
    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    dtype: str = "auto"
    quantization: str | None = None
    generation_config: str = "auto"
    """Where default sampling parameters come from: `auto` is the model's folder, `vllm` is nowhere."""
    sampling: Mapping[str, object] = field(default_factory=dict)
    """Default sampling parameters that the flags set over those."""
    tokenizer_elsewhere: bool = False
    """Whether the tokenizer is not the one in the target's folder."""
    utilization: float = 0.9
    """Share of a device's memory that the engine may take."""
    cache: int | None = None
    """Bytes of the KV cache, where they are set; vLLM itself complains where they are no number."""
    spreads: bool = False
    """Whether a device may hold less than its share by tensor and pipeline: a part stays in the host's memory, or
    experts are split over more devices."""

    @property
    def method(self) -> str | None:
        """The name of the method, or None for a plain server."""
        if self.speculation is None:
            return None
        return str(self.speculation.get("method") or "draft_model")

    @property
    def draft(self) -> str | None:
        """Where the draft lies, or None where the method needs none."""
        model = (self.speculation or {}).get("model")
        return model if isinstance(model, str) and model and self.method not in WITHOUT_DRAFT else None


def read(arguments: Sequence[str]) -> Flags:
    """Return the flags, or refuse with the one that cannot be read."""
    if arguments and not arguments[0].startswith("-"):
        raise _refused(
            "NoFlags",
            "args",
            f"the arguments begin with {arguments[0][:80]!r}, which is not a flag of vLLM's server; they are probably "
            "for another program, such as a shell; with your own runtime set spec.engine.instrument: None",
        )
    values = _collect(arguments)
    model = values.get("model")
    if not model:
        raise _refused(
            "ModelNotNamed",
            "--model",
            "the flags have no --model: the server needs the folder of the target model; set --model=/mnt/target/model",
        )
    return Flags(
        model=model,
        speculation=_speculation(values),
        port=_number("port", values) or DEFAULT_PORT,
        max_model_len=_length(values),
        load_format=values.get("load-format", "auto"),
        tensor_parallel=_number("tensor-parallel-size", values) or 1,
        pipeline_parallel=_number("pipeline-parallel-size", values) or 1,
        dtype=values.get("dtype", "auto"),
        quantization=values.get("quantization"),
        generation_config=values.get("generation-config", "auto"),
        sampling=_sampling(values),
        tokenizer_elsewhere=bool({"tokenizer", "skip-tokenizer-init"} & values.keys()),
        utilization=_share(values),
        cache=_bytes(values),
        spreads=bool(_SPREADING & values.keys()),
    )


def _collect(arguments: Sequence[str]) -> dict[str, str]:
    """Return flag names without dashes and their values; a flag without a value has an empty one."""
    values: dict[str, str] = {}
    for at, argument in enumerate(arguments):
        if not argument.startswith("-") or argument.startswith("{"):
            continue
        name, equals, value = argument.partition("=")
        if not equals and at + 1 < len(arguments) and not arguments[at + 1].startswith("-"):
            value = arguments[at + 1]
        long = name.lstrip("-").replace("_", "-")
        values[_SHORT.get(long, long)] = value
    return values


def _speculation(values: Mapping[str, str]) -> Mapping[str, object] | None:
    """Return the parsed speculative config, or None where there is none."""
    text = next((values[name] for name in _SPECULATIVE if name in values), None)
    if text is None:
        return None
    try:
        parsed = json.loads(text)
    except json.JSONDecodeError as error:
        raise _unreadable(text, f"is not JSON ({error})") from error
    if not isinstance(parsed, dict):
        raise _unreadable(text, f"is a JSON {type(parsed).__name__}, not an object")
    return parsed


def _sampling(values: Mapping[str, str]) -> Mapping[str, object]:
    """Return --override-generation-config; vLLM itself complains where it is not JSON."""
    try:
        parsed = json.loads(values.get("override-generation-config", "{}"))
    except json.JSONDecodeError:
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _bytes(values: Mapping[str, str]) -> int | None:
    text = values.get("kv-cache-memory-bytes", "")
    return int(text) if text.isdecimal() else None


def _share(values: Mapping[str, str]) -> float:
    """Return --gpu-memory-utilization; vLLM itself complains where it is no number."""
    try:
        return float(values.get("gpu-memory-utilization", "0.9"))
    except ValueError:
        return 0.9


def _refused(reason: str, field: str, message: str) -> RefusedError:
    return RefusedError(Refusal(reason=reason, field=field, message=message))


def _unreadable(text: str, why: str) -> RefusedError:
    return _refused(
        "SpeculativeConfigInvalid",
        "--speculative-config",
        f"--speculative-config is {text!r}, which {why}: vLLM reads one JSON object; "
        'write it as {"method":"draft_model","model":"/mnt/draft/model","num_speculative_tokens":4}',
    )


def _number(name: str, values: Mapping[str, str]) -> int | None:
    """Return a whole number, or None where the flag is not given."""
    text = values.get(name)
    if text is None:
        return None
    if not text.isdecimal():
        raise _refused(
            "FlagInvalid", f"--{name}", f"--{name} is {text!r}: it must be a whole number; correct it or remove it"
        )
    return int(text)


# vLLM accepts 8k (thousands) and 8K (1024s) for a length.
_SUFFIXES = {"k": 1_000, "m": 1_000_000, "K": 1 << 10, "M": 1 << 20}


def _length(values: Mapping[str, str]) -> int | None:
    """Return --max-model-len, or None where vLLM finds the length itself (absent, auto, -1)."""
    text = values.get("max-model-len")
    if text is None or text in {"", "auto", "-1"}:
        return None
    factor = _SUFFIXES.get(text[-1])
    if factor is not None and text[:-1].replace(".", "", 1).isdecimal():
        return int(float(text[:-1]) * factor)
    return _number("max-model-len", values)
