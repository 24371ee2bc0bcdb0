"""What the memory plan is asked: the engine, the device, the models, how they are to be served, and what to reserve."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from specdec_engine.case import Case
from specdec_engine.memory.draft_size import draft_facts
from specdec_engine.memory.facts import NOTHING, Known
from specdec_engine.memory.model_size import ModelFacts, model_facts
from specdec_engine.methods import LOOKUPS, SUFFIX_TREE_DEPTH, plain_name
from specdec_engine.model_runner import Runner, runner_of
from specdec_engine.quantity import parse_quantity
from specdec_engine.shape import number
from specdec_engine.version import Build, Flavor

_PERCENT: Final = re.compile(r"(\d{1,2})(?:\.(\d{1,4}))?\s?%")


class ReserveKind(StrEnum):
    """How the utilisation is lowered for a draft."""

    AUTO = "Auto"
    """By what speculation adds and the engine does not count itself, at the upper end of each estimate."""
    COUNTED = "Counted"
    """By what the engine does not count itself and what is left of the device does not hold."""
    NONE = "None"
    """Not at all."""
    SHARE = "share"
    """By a share of the device."""
    BYTES = "bytes"
    """By an amount of bytes on each device."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserve:
    """A reserve for the draft, `text` as written. amount: millionths of the device, or bytes; else 0."""

    kind: ReserveKind
    amount: int = 0
    text: str


AUTO: Final = Reserve(kind=ReserveKind.AUTO, text="Auto")
COUNTED: Final = Reserve(kind=ReserveKind.COUNTED, text="Counted")
NONE: Final = Reserve(kind=ReserveKind.NONE, text="None")
_WORDS: Final = {each.text: each for each in (AUTO, COUNTED, NONE)}


def parse_reserve(text: str) -> Reserve:
    """`Auto`, `Counted`, `None`, a share of the device (`6%`) or an amount (`2Gi`).

    Raises ValueError for anything else, for 0 and for 100 % and more.
    """
    if text in _WORDS:
        return _WORDS[text]
    if text.endswith("%"):
        return Reserve(kind=ReserveKind.SHARE, amount=_millionths(text), text=text)
    try:
        amount = parse_quantity(text)
    except ValueError as problem:
        raise ValueError(
            f"{text!r} is not a reserve; write Auto, Counted, None, a share such as 6%, or an amount such as 2Gi"
        ) from problem
    if "." in text and amount < 100:
        raise ValueError(
            f"{text!r} would reserve {amount} bytes; for a share of the device write a percentage, such as 6%"
        )
    return Reserve(kind=ReserveKind.BYTES, amount=amount, text=text)


def _millionths(text: str) -> int:
    if not (match := _PERCENT.fullmatch(text)):
        raise ValueError(f"{text!r} is not a share of the device; write more than 0% and less than 100%, such as 6%")
    whole, fraction = match.groups()
    amount = int(whole) * 10_000 + int((fraction or "").ljust(4, "0"))
    if amount == 0:
        raise ValueError(f"{text!r} reserves nothing; write None, or more than 0%")
    return amount


GIB: Final = 1024**3


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryInputs:
    """One service on devices of one size.

    device: bytes of one device's memory, or of the container's on a CPU; None: not known. told_cache: bytes of KV cache
    that an engine on a CPU is set to; None: a share of the container's memory.
    draft, method: None without speculation. tokens: K, guessed in one step. lowered_further: share of the device, in
    0..1, that is taken off in addition, because the engine ran out of memory. settled: the utilisation that runs
    already: the plan describes it and does not choose another.
    """

    case: Case
    runner: Runner
    device: int | None
    target: ModelFacts
    draft: ModelFacts | None = None
    method: str | None = None
    tokens: int = 0
    reserve: Reserve = AUTO
    told_cache: int | None = None
    lowered_further: float = 0.0
    settled: float | None = None

    @property
    def build(self) -> Build:
        """The engine."""
        return self.case.build

    @property
    def loads_a_draft(self) -> bool:
        """Whether weights are loaded for the draft; a class of the user's own is taken to load some."""
        return self.method is not None and self.method not in (*LOOKUPS, "extract_hidden_states")

    @property
    def utilization(self) -> float | None:
        """The user's, in 0..1; None: the engine's default."""
        return self.case.args.get("gpu_memory_utilization")

    @property
    def tensor_parallel(self) -> int:
        """Devices that share each layer."""
        return self.flag("tensor_parallel_size") or 1

    @property
    def pipeline_parallel(self) -> int:
        """Stages that share the layers."""
        return self.flag("pipeline_parallel_size") or 1

    @property
    def expert_devices(self) -> int | None:
        """Devices that share the routed experts: those of tensor and data parallelism together, or None: as a layer."""
        spread = self.tensor_parallel * (self.flag("data_parallel_size") or 1)
        return spread if self.case.switched("enable_expert_parallel") else None

    @property
    def seqs(self) -> int:
        """Requests in one batch: as asked, or the API server's default, which a large device raises.

        vllm/engine/arg_utils.py, get_batch_defaults; an A100 stays at 256 there, and the larger number is the safe one.
        """
        large = self.build.flavor is Flavor.VLLM and (self.device or 0) >= 70 * GIB
        return self.flag("max_num_seqs") or (1024 if large else 256)

    @property
    def length(self) -> int:
        """Tokens of the longest request: as asked, or what the model was made for; 0 where neither is known."""
        return self.flag("max_model_len") or self.target.longest

    @property
    def draft_devices(self) -> int:
        """Devices that share the draft: the target's, unless this engine follows the requested number.

        vllm-ascend follows it since v0.13.0, vLLM for draft_model on the second runner.
        """
        second = self.method == "draft_model" and self.runner is Runner.V2
        heeded = second or self.build.flavor is Flavor.VLLM_ASCEND
        return (
            number(self.case.speculation or {}, "draft_tensor_parallel_size") if heeded else 0
        ) or self.tensor_parallel

    @property
    def probabilistic(self) -> bool:
        """Whether the draft's tokens are sampled, not taken greedily."""
        return bool(self.method) and (self.case.speculation or {}).get("draft_sample_method") == "probabilistic"

    def flag(self, name: str) -> int:
        """A flag that is a positive whole number; 0: the engine's default."""
        return number(self.case.args, name)


def inputs_of(
    case: Case,
    *,
    device: int | None,
    draft_bytes: int | None = None,
    reserve: Reserve = AUTO,
    told_cache: int | None = None,
    lowered_further: float = 0.0,
    known: Known = NOTHING,
    settled: float | None = None,
) -> MemoryInputs:
    """The inputs for a case. draft_bytes: of the draft's weight files, None if they were not seen.

    known: what pods reported of models that the case does not know.
    """
    speculation = case.speculation or {}
    cached = str(case.args.get("kv_cache_dtype", "auto"))
    target = (case.target.config if case.target else None) or known.target
    method = plain_name(str(speculation.get("method") or "")) or None
    tokens = number(speculation, "num_speculative_tokens") or (SUFFIX_TREE_DEPTH if method == "suffix" else 0)
    config = (case.draft.config if case.draft else None) or known.draft
    draft_bytes = known.draft_bytes if draft_bytes is None else draft_bytes
    return MemoryInputs(
        case=case,
        runner=runner_of(case),
        device=device,
        target=model_facts(target, weight_bytes=known.target_bytes, kv_cache_dtype=cached),
        draft=draft_facts(
            method, target=target, draft=config, weight_bytes=draft_bytes, tokens=tokens, kv_cache_dtype=cached
        )
        if method
        else None,
        method=method,
        tokens=tokens,
        reserve=reserve,
        told_cache=told_cache,
        lowered_further=lowered_further,
        settled=settled,
    )
