"""Limits of lengths, types and places: what the pair, or the engine here, cannot do beyond a number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specdec_engine.accelerators import Accelerator
from specdec_engine.methods import NPU_MOST_TOKENS
from specdec_engine.rule import Finding, Severity
from specdec_runtime.preflight.finding import FolderRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from specdec_runtime.preflight.case import PreflightCase

CONTEXT: Final = FolderRule(
    id="DraftContextShort",
    severity=Severity.WARNED,
    when=(
        "draft_model; eagle and eagle3 up to vLLM 0.26, because later ones raise the limit; --max-model-len is set, "
        "and the draft's length is known and not extended by rope scaling"
    ),
    says="The draft supports the served context length.",
    without="No error: beyond that position drafts are computed and counted, but never accepted.",
    source="run, 0.32",
)
DTYPE: Final = FolderRule(
    id="DraftTypeOther",
    severity=Severity.WARNED,
    when="both config.json have a dtype, and --dtype is auto",
    says="The draft's weights have the target's type.",
    without="The engine converts the draft to the target's type during loading.",
    source="config/speculative.py, 0.32",
)
QUANTIZATION: Final = FolderRule(
    id="DraftQuantizationContradicted",
    severity=Severity.WARNED,
    when='"quantization" in --speculative-config, and a quantization_config in the draft',
    says="Both have the same method.",
    without=(
        "`Quantization method specified in the model config ... does not match`, or the engine uses another kernel."
    ),
    source="config/model.py, 0.32",
)
NPU_TOKENS: Final = FolderRule(
    id="NpuTokensTooMany",
    severity=Severity.REFUSED,
    when="Ascend; suffix drafts up to suffix_decoding_max_tree_depth tokens, by default 24 or K",
    says="K is at most 15: the attention operator supports 1 + K <= 16 tokens per request.",
    without="The engine fails in this operator at the first request that drafts more.",
    source="vllm-ascend, code of 0.11 to 0.25",
)
NPU_PARALLEL: Final = FolderRule(
    id="NpuDraftTensorParallel",
    severity=Severity.REFUSED,
    when="Ascend; draft_model",
    says="draft_tensor_parallel_size is absent or the target's.",
    without="`draft_tensor_parallel_size and tensor_parallel_size must be the same` when the workers start.",
    source="vllm-ascend, code of 0.17 to 0.25",
)
NPU_VOCABULARY: Final = FolderRule(
    id="NpuHeterogeneousVocabulary",
    severity=Severity.REFUSED,
    when="Ascend; draft_model",
    says="use_heterogeneous_vocab is absent.",
    without="The engine fails during configuration or drafts wrong tokens: the plugin does not support it.",
    source="vllm-ascend, code of 0.17 to 0.25",
)
_HETEROGENEOUS: Final = "speculative_config.use_heterogeneous_vocab"
RULES: Final = (CONTEXT, DTYPE, QUANTIZATION, NPU_TOKENS, NPU_PARALLEL, NPU_VOCABULARY)


def context(case: PreflightCase) -> Iterator[Finding]:
    """The draft reaches as far as the target is served; beyond that its drafts are counted but never accepted."""
    found, served, draft = case.broken("CONTEXT-SHORT", "CONTEXT-HEAD"), case.flags.max_model_len, case.draft
    if found is not None and isinstance(reach := found.value, int) and served is not None and draft is not None:
        share = round(100 * (served - reach) / served)
        yield CONTEXT.found(
            draft.field,
            f"{draft.path}/config.json has max_position_embeddings {reach}, but the server runs with --max-model-len "
            f"{served}: drafts beyond position {reach} are computed but not accepted, in {share} % of the context; "
            "use a draft with a longer context or lower --max-model-len",
        )


def dtype(case: PreflightCase) -> Iterator[Finding]:
    """The draft is stored as the target is."""
    if case.draft is None or case.flags.dtype != "auto":
        return
    target, draft = case.target.settings.dtype, case.draft.settings.dtype
    if target and draft and target != draft:
        yield DTYPE.found(
            case.draft.field,
            f"{case.draft.path}/config.json has dtype {draft}, but the target has {target}: vLLM runs both as "
            f"{target}, so it converts the draft at every start; convert the stored draft to {target}",
        )


def quantization(case: PreflightCase) -> Iterator[Finding]:
    """The flags do not contradict how the draft is stored."""
    found = case.broken("QUANT-DIFFERS", field="speculative_config")
    if found is not None and case.draft is not None:
        yield QUANTIZATION.found(
            "--speculative-config quantization",
            f"quantization is {found.value!r}, but {case.draft.path}/config.json has "
            f"{case.draft.settings.quantization!r}: vLLM reads weights in their stored format; remove "
            '"quantization"',
        )


def npu(case: PreflightCase) -> Iterator[Finding]:
    """What an Ascend device cannot do."""
    if found := case.broken("ASC-K"):
        yield NPU_TOKENS.found(
            "--speculative-config num_speculative_tokens",
            f"{case.method} drafts up to {found.value} tokens: an Ascend device supports 1 + K <= 16 tokens per "
            f"request; set num_speculative_tokens to {NPU_MOST_TOKENS} or less",
        )
    if case.method == "draft_model" and case.around.accelerator is Accelerator.ASCEND:
        yield from _npu_draft(case)


def _npu_draft(case: PreflightCase) -> Iterator[Finding]:
    if found := case.broken("DRAFT-TP", "DRAFT-TP-EQUAL"):
        yield NPU_PARALLEL.found(
            "--speculative-config draft_tensor_parallel_size",
            f"draft_tensor_parallel_size is {found.value}, --tensor-parallel-size {case.flags.tensor_parallel}: on "
            "Ascend a draft model runs on the target's devices; remove it",
        )
    if case.heterogeneous and case.broken("ASC-HETERO", "KEY-UNKNOWN", field=_HETEROGENEOUS):
        yield NPU_VOCABULARY.found(
            "--speculative-config use_heterogeneous_vocab",
            "use_heterogeneous_vocab is true: vllm-ascend cannot translate between vocabularies; use a draft with the "
            "target's vocabulary and remove it",
        )
