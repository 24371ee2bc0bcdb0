"""What the command line sets about the models and the device, as preflight and prove need it.

It is read as the newest engine reads it. It is refused only if preflight cannot continue: vLLM's own messages cover the
rest.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from specdec_engine import command_line
from specdec_engine.flags import option
from specdec_engine.methods import WITHOUT_DRAFT
from specdec_engine.version import NEWEST, Build, Flavor, Version
from specdec_runtime.refusal import Refusal, RefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from specdec_engine.rule import Finding

_SPREADING: Final = ("cpu_offload_gb", "offload_backend", "enable_expert_parallel", "enable_eplb", "data_parallel_size")
_COUNTS: Final = ("port", "max_model_len", "tensor_parallel_size", "pipeline_parallel_size")
"""Flags without which preflight cannot go on: whole numbers."""
_READ_AS: Final = Build(Flavor.VLLM, Version(*NEWEST))
DEFAULT_PORT = 8000


@dataclass(frozen=True, kw_only=True, slots=True)
class Flags:
    """A command line, read. args: the flags by their Python names; speculation: None for a plain server."""

    args: Mapping[str, Any]
    speculation: Mapping[str, Any] | None = None

    @property
    def model(self) -> str:
        """The target: a folder, or an id of the hub."""
        return self._text("model", "")

    @property
    def port(self) -> int:
        """Where the server listens."""
        return self._count("port") or DEFAULT_PORT

    @property
    def max_model_len(self) -> int | None:
        """The longest sequence in tokens; None where vLLM finds it itself."""
        return self._count("max_model_len")

    @property
    def load_format(self) -> str:
        """How weights are loaded; `dummy`: not at all."""
        return self._text("load_format", "auto")

    @property
    def tensor_parallel(self) -> int:
        """Devices that share each layer."""
        return self._count("tensor_parallel_size") or 1

    @property
    def pipeline_parallel(self) -> int:
        """Groups of devices that have different layers."""
        return self._count("pipeline_parallel_size") or 1

    @property
    def dtype(self) -> str:
        """The type that weights are loaded as."""
        return self._text("dtype", "auto")

    @property
    def quantization(self) -> str | None:
        """How the target's weights are to be quantised."""
        return self._text("quantization", "") or None

    @property
    def generation_config(self) -> str:
        """The source of default sampling parameters: `auto` is the model's folder, `vllm` means no source."""
        return self._text("generation_config", "auto")

    @property
    def sampling(self) -> Mapping[str, Any]:
        """Default sampling parameters that the flags set over those."""
        value = self.args.get("override_generation_config")
        return value if isinstance(value, dict) else {}

    @property
    def tokenizer_elsewhere(self) -> bool:
        """Whether the tokenizer is not the one in the target's folder."""
        return bool(self.args.get("tokenizer") or self.args.get("skip_tokenizer_init"))

    @property
    def utilization(self) -> float:
        """Share of a device's memory that the engine may take."""
        value = self.args.get("gpu_memory_utilization")
        return float(value) if isinstance(value, int | float) else 0.9

    @property
    def cache(self) -> int | None:
        """Bytes of the KV cache; None if they are not set."""
        return self._count("kv_cache_memory_bytes")

    @property
    def spreads(self) -> bool:
        """Whether a device may hold less than its share by tensor and pipeline: a part stays in the host's memory, or
        experts are split over more devices.
        """
        return any(self.args.get(name) not in (None, False) for name in _SPREADING)

    @property
    def method(self) -> str | None:
        """The name of the method, or None without speculation."""
        if self.speculation is None:
            return None
        return str(self.speculation.get("method") or "draft_model")

    @property
    def draft(self) -> str | None:
        """The path of the draft, or None if the method needs none."""
        model = (self.speculation or {}).get("model")
        return model if isinstance(model, str) and model and self.method not in WITHOUT_DRAFT else None

    def _text(self, name: str, default: str) -> str:
        value = self.args.get(name)
        return value if isinstance(value, str) and value else default

    def _count(self, name: str) -> int | None:
        value = self.args.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None


def read(arguments: Sequence[str]) -> Flags:
    """Return the flags, or refuse with the one that cannot be read."""
    if arguments and not arguments[0].startswith("-"):
        raise _refused(
            "NoFlags",
            "args",
            f"the arguments begin with {arguments[0][:80]!r}, which is not a flag of vLLM's server; they are probably "
            "for another program, such as a shell; with your own runtime set spec.engine.instrument: None",
        )
    line = command_line.read(arguments, _READ_AS)
    found = Flags(args=line.args, speculation=line.speculation)
    if not found.model:
        raise _refused(
            "ModelNotNamed",
            "--model",
            "the flags have no --model: the server needs the folder of the target model; set --model=/mnt/target/model",
        )
    for each in line.findings:
        _refuse(each)
    for name in _COUNTS:
        if (value := line.args.get(name)) is not None and value < 0:
            raise _no_count(name, str(value))
    return found


def _refuse(finding: Finding) -> None:
    """Raise RefusedError for what preflight cannot go on with; the rest is left to vLLM."""
    name = finding.field.partition(".")[2]
    if finding.rule.id == "ARG-VALUE" and name in _COUNTS:
        raise _no_count(name, finding.value or "")
    if finding.rule.id in ("JSON-SYNTAX", "JSON-OFF", "JSON-OBJECT"):
        raise _no_object(finding.value)


def _no_count(name: str, value: object) -> RefusedError:
    flag = option(name)
    return _refused("FlagInvalid", flag, f"{flag} is {value!r}: it must be a whole number; correct it or remove it")


def _no_object(value: object) -> RefusedError:
    """The refusal of a --speculative-config: a text that is not JSON, or JSON that is not an object."""
    text = value if isinstance(value, str) else json.dumps(value)
    try:
        why = f"is a JSON {type(json.loads(text)).__name__}, not an object"
    except (ValueError, RecursionError) as error:
        why = f"is not JSON ({error})"
    return _refused(
        "SpeculativeConfigInvalid",
        "--speculative-config",
        f"--speculative-config is {text!r}, which {why}: vLLM reads one JSON object; "
        'write it as {"method":"draft_model","model":"/mnt/draft/model","num_speculative_tokens":4}',
    )


def _refused(reason: str, field: str, message: str) -> RefusedError:
    return RefusedError(Refusal(reason=reason, field=field, message=message))
