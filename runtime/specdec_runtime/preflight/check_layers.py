"""The layers of the target that a head reads, and what a head needs to draft all tokens at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specdec_engine import aux_layers
from specdec_engine.rule import Finding, Severity
from specdec_engine.rules.heads import MASKS
from specdec_runtime.preflight.finding import FolderRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from specdec_runtime.preflight.artifact import ModelFolder
    from specdec_runtime.preflight.case import PreflightCase

RANGE: Final = FolderRule(
    id="AuxLayersOutOfRange",
    severity=Severity.REFUSED,
    when="eagle3, dflash whose config names layers (eagle_aux_hidden_state_layer_ids, target_layer_ids)",
    says="Each is a layer of the target.",
    without="A successful start; the first request stops the engine, because a hidden state is missing.",
    source="v1/worker/gpu_model_runner.py, 0.32",
)
COLLAPSE: Final = FolderRule(
    id="AuxLayersCollapse",
    severity=Severity.REFUSED,
    when="eagle3, dflash",
    says="The layers differ from each other; a head that names none uses layers 2, n/2 and n-3 of n.",
    without="A successful start; the first request stops the engine: `shape '[-1, 768]' is invalid for input of size "
    "2048`.",
    source="run, 0.32",
)
PARALLEL: Final = FolderRule(
    id="ParallelDraftingUntrained",
    severity=Severity.REFUSED,
    when="parallel_drafting, dflash, dspark",
    says="config.json has the mask token (mask_token_id, pard_token, ptd_token_id), and an EAGLE-3 head has the "
    "tensor mask_hidden.",
    without="`For parallel drafting, the draft model config must have ...` or `mask_hidden not found` after 20 s.",
    source="v1/spec_decode/llm_base_proposer.py, 0.32",
)
BLOCK: Final = FolderRule(
    id="DraftBlockShort",
    severity=Severity.WARNED,
    when="dflash with a block_size",
    says="K is at most block_size - 1, the width for which the head was trained.",
    without="It drafts more tokens than it was trained for, and the last ones are almost never accepted.",
    source="v1/worker/gpu/spec_decode/dflash/speculator.py, 0.32; not run",
)
RULES: Final = (RANGE, COLLAPSE, PARALLEL, BLOCK)


def aux(case: PreflightCase) -> Iterator[Finding]:
    """The layers that a head reads are there, and each is another one."""
    head, target = case.head, case.resolved.target
    if head is None or target is None or target.layers is None:
        return
    depth, ids = target.layers, aux_layers.named(head.settings)
    if case.broken("HEAD-LAYERS") and ids:
        yield RANGE.found(
            head.field,
            f"{head.path}/config.json names the layers {list(ids)}, but the target has {depth} layers: layer "
            f"{aux_layers.astray(ids, depth)[0]} does not exist; use the head that was trained for this target",
        )
    elif case.broken("HEAD-LAYERS-FEW"):
        yield COLLAPSE.found(
            head.field, _collapsed(head, aux_layers.taken(case.method or "", head.settings, depth), depth)
        )


def _collapsed(head: ModelFolder, taken: tuple[int, ...], depth: int) -> str:
    how = "names" if aux_layers.named(head.settings) else "names no layers, so vLLM uses"
    return (
        f"{head.path}/config.json {how} {list(taken)} of the target's {depth}: they must be {len(taken)} different "
        'layers; set "eagle_aux_hidden_state_layer_ids" in it to those that it was trained with'
    )


def parallel(case: PreflightCase) -> Iterator[Finding]:
    """Drafting all tokens at once is something that a model must have learnt."""
    draft = case.draft
    if draft is None:
        return
    if case.broken("PARALLEL-MASK"):
        yield PARALLEL.found(
            draft.field,
            f"{draft.path}/config.json has no mask token ({', '.join(MASKS)}): only a draft that was trained for it "
            'can draft all tokens in one pass; remove "parallel_drafting", or use such a draft',
        )
    elif case.option("parallel_drafting") and case.method == "eagle3" and case.load_weights and _no_mask(draft):
        yield PARALLEL.found(
            draft.field,
            f"{draft.path} has no tensor mask_hidden: an EAGLE-3 head that drafts all tokens in one pass needs it; "
            'remove "parallel_drafting", or use such a head (P-EAGLE)',
        )


def _no_mask(draft: ModelFolder) -> bool:
    return draft.tensors is not None and not any("mask_hidden" in name for name in draft.tensors)


def block(case: PreflightCase) -> Iterator[Finding]:
    """A DFlash head is asked for as many tokens as it was trained for."""
    found, draft = case.broken("K-BLOCK"), case.resolved.draft
    if found is not None and draft is not None and (size := draft.block_size):
        yield BLOCK.found(
            "--speculative-config num_speculative_tokens",
            f"num_speculative_tokens is {found.value}, but {draft.path} was trained for blocks of {size}: it drafts up "
            f"to {size - 1} tokens well; set num_speculative_tokens to {size - 1} or less",
        )
