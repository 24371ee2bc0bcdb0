"""What the memory plan is asked: the engine, the device, the models, and how they are to be served."""

from dataclasses import dataclass, field
from typing import Final

from specdec_operator.engine.case import Case, Json
from specdec_operator.engine.memory.drafts import draft_facts
from specdec_operator.engine.memory.facts import ModelFacts, model_facts
from specdec_operator.engine.memory.reserve import AUTO, Reserve
from specdec_operator.engine.memory.runner import runner_of
from specdec_operator.engine.memory.served import Served, served_of, whole
from specdec_operator.engine.runner import Runner
from specdec_operator.engine.version import Build, Flavor

GIB: Final = 1024**3
_SUFFIX_TOKENS: Final = 24  # suffix_decoding_max_tree_depth, which suffix takes for K


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryAsked:
    """One service on devices of one size.

    device: bytes of one device's memory; None: not known. utilization: the user's, in 0..1; None: the engine's default.
    draft, method: None without speculation. tokens: K, guessed in one step.
    probabilistic: the draft's tokens are sampled, not taken greedily.
    """

    build: Build
    runner: Runner
    device: int | None
    target: ModelFacts
    utilization: float | None = None
    draft: ModelFacts | None = None
    method: str | None = None
    tokens: int = 0
    probabilistic: bool = False
    served: Served = field(default_factory=Served)
    reserve: Reserve = AUTO

    @property
    def seqs(self) -> int:
        """Requests in one batch: as asked, or the API server's default, which a large device raises.

        vllm/engine/arg_utils.py, get_batch_defaults; an A100 stays at 256 there, and the larger number is the safe one.
        """
        large = self.build.flavor is Flavor.VLLM and (self.device or 0) >= 70 * GIB
        return self.served.max_num_seqs or (1024 if large else 256)

    @property
    def length(self) -> int:
        """Tokens of the longest request: as asked, or what the model was made for; 0 where neither is known."""
        return self.served.max_model_len or self.target.longest

    @property
    def draft_devices(self) -> int:
        """Devices that share the draft: the target's, unless this engine heeds what was asked.

        vllm-ascend heeds it since v0.13.0, vLLM for draft_model on the second runner.
        """
        second = self.method == "draft_model" and self.runner is Runner.V2
        heeded = second or self.build.flavor is Flavor.VLLM_ASCEND
        return (self.served.draft_tensor_parallel if heeded else None) or self.served.tensor_parallel


def asked_of(
    case: Case,
    *,
    device: int | None,
    target_bytes: int | None = None,
    draft_bytes: int | None = None,
    reserve: Reserve = AUTO,
) -> MemoryAsked:
    """The question that a case poses. target_bytes, draft_bytes: of the weight files, None where they were not seen."""
    speculation = case.speculation or {}
    cached = str(case.args.get("kv_cache_dtype", "auto"))
    target = case.target.config if case.target else None
    method = _method(speculation)
    draft = _draft(case, method, draft_bytes, cached) if method else None
    if method == "mtp" and case.draft is None and target_bytes and draft and draft.weights:
        # The heads lie in the target's files, and are loaded because this method uses them.
        target_bytes = max(0, target_bytes - draft.weights.total)
    return MemoryAsked(
        build=case.build,
        runner=runner_of(case),
        device=device,
        target=model_facts(target, weight_bytes=target_bytes, kv_cache_dtype=cached),
        utilization=case.args.get("gpu_memory_utilization"),
        draft=draft,
        method=method,
        tokens=_tokens(method, speculation),
        probabilistic=speculation.get("draft_sample_method") == "probabilistic",
        served=served_of(case),
        reserve=reserve,
    )


def _draft(case: Case, method: str, weight_bytes: int | None, cached: str) -> ModelFacts:
    return draft_facts(
        method,
        target=case.target.config if case.target else None,
        draft=case.draft.config if case.draft else None,
        weight_bytes=weight_bytes,
        tokens=_tokens(method, case.speculation or {}),
        kv_cache_dtype=cached,
    )


def _method(speculation: Json) -> str | None:
    """The method by its one name: deepseek_mtp and its kin are mtp. None without speculation."""
    method = str(speculation.get("method") or "")
    return "mtp" if method.endswith("_mtp") else method or None


def _tokens(method: str | None, speculation: Json) -> int:
    return whole(speculation, "num_speculative_tokens") or (_SUFFIX_TOKENS if method == "suffix" else 0)
