"""A head must fit the target's vocabulary and hidden states. Tensors decide where they and config.json disagree."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from specdec_engine import aux_layers
from specdec_engine.rule import Finding, Severity
from specdec_runtime.preflight.finding import FolderRule
from specdec_runtime.preflight.weights import PLAIN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from specdec_runtime.preflight.artifact import ModelFolder
    from specdec_runtime.preflight.case import PreflightCase

VOCABULARY: Final = FolderRule(
    id="HeadVocabularyMismatch",
    severity=Severity.REFUSED,
    when="eagle, eagle3, dflash, dspark, medusa",
    says="vocab_size equals the target's, and the head's own lm_head has the number of rows in its config.",
    without="A shape error during loading, or drafts of tokens that the target does not have.",
    source="model_executor/models/llama_eagle3.py and medusa.py, 0.32",
)
MAP: Final = FolderRule(
    id="DraftVocabularyMapMissing",
    severity=Severity.REFUSED,
    when="eagle3, dflash, dspark with a draft_vocab_size other than the target's vocab_size",
    says="A tensor d2t with draft_vocab_size entries maps each drafted id to a token of the target.",
    without="No error: the map stays zero, and the drafts are wrong tokens.",
    source="model_executor/models/llama_eagle3.py, 0.32",
)
WIDTH: Final = FolderRule(
    id="HeadWidthMismatch",
    severity=Severity.REFUSED,
    when="eagle, eagle3, dflash, medusa",
    says="Its input has the target's hidden size, for the number of layers that it names: fc.weight is [h, 2h] for "
    "eagle and [h, layers x target hidden_size] for eagle3 and dflash.",
    without="`Tried to load weights of size ...` after 21 s, or a healthy start and death at the first request.",
    source="run, 0.32",
)
HEADS: Final = FolderRule(
    id="MedusaHeadsTooFew",
    severity=Severity.REFUSED,
    when="medusa",
    says="The draft has a head for each of the K tokens.",
    without="`Following weights were not initialized from checkpoint` after 20 s.",
    source="run, 0.32",
)
RULES: Final = (VOCABULARY, MAP, WIDTH, HEADS)
_MEDUSA: Final = re.compile(r"(?:^|\.)(?:blocks|medusa_heads|lm_heads)\.(\d+)\.|^(\d+)\.\d+\.")
_WAY_OUT: Final = "use the head that was trained for this target"


def vocabularies(case: PreflightCase) -> Iterator[Finding]:
    """A head speaks the target's vocabulary."""
    head, wanted = case.head, case.target.number("vocab_size")
    if head is None or wanted is None:
        return
    if case.method == "medusa":
        yield from _medusa_rows(head, wanted)
        return
    actual = head.number("vocab_size")
    if actual is not None and actual != wanted:
        yield VOCABULARY.found(
            head.field,
            f"{head.path}/config.json has vocab_size {actual}, but the target has {wanted}: a head must draft the "
            f"target's own tokens; {_WAY_OUT}",
        )
        return
    own = head.number("draft_vocab_size") or head.number("truncated_vocab_size") or wanted
    yield from _lm_head(head, own)
    if own != wanted and case.method != "eagle" and case.load_weights and head.tensors is not None:
        yield from _map(head, own, wanted)


def _medusa_rows(head: ModelFolder, wanted: int) -> Iterator[Finding]:
    tables = {
        name: each
        for name, each in (head.tensors or {}).items()
        if len(each.shape) == 2 and each.shape[0] != each.shape[1] and each.dtype in PLAIN
    }
    wrong = [name for name, each in tables.items() if each.shape[0] != wanted]
    if wrong and "token_map" not in (head.tensors or {}):
        yield VOCABULARY.found(
            head.field,
            f"{head.path}: {wrong[0]} has {tables[wrong[0]].shape[0]} rows, but the target's vocab_size is {wanted}: "
            f"every head must draft the target's own tokens; {_WAY_OUT}",
        )


def _lm_head(head: ModelFolder, own: int) -> Iterator[Finding]:
    table = head.tensor("lm_head.weight")
    if table is not None and table.dtype in PLAIN and table.shape[:1] != (own,):
        yield VOCABULARY.found(
            head.field,
            f"{head.path}: lm_head.weight has {table.shape[0] if table.shape else 0} rows, but config.json has {own} "
            "(draft_vocab_size, else vocab_size): weights and config are from different heads; copy both from the "
            "same head",
        )


def _map(head: ModelFolder, own: int, wanted: int) -> Iterator[Finding]:
    table = head.tensor("d2t") or head.tensor("draft_id_to_target_id")
    if table is None or table.shape != (own,):
        actual = f"d2t is {list(table.shape)}" if table else "the tensor d2t is missing"
        yield MAP.found(
            head.field,
            f"{head.path}: draft_vocab_size is {own}, the target's vocab_size is {wanted}, and {actual}: d2t must map "
            f"each of the {own} drafted ids to a token of the target; copy the complete checkpoint of the head",
        )


def widths(case: PreflightCase) -> Iterator[Finding]:
    """A head reads the target's hidden states, all of them and no others."""
    head, wanted = case.head, case.target.number("hidden_size")
    if head is None or wanted is None:
        return
    declared = head.number("target_hidden_size")
    if declared is None and case.method in {"eagle", "medusa", "eagle3", "dflash"}:
        declared = head.number("hidden_size")
    if declared is not None and declared != wanted:
        yield WIDTH.found(
            head.field,
            f"{head.path}/config.json has a hidden size of {declared} (target_hidden_size, else hidden_size), but the "
            f"target has {wanted}: a head works with one hidden size only; {_WAY_OUT}",
        )
        return
    yield from _fc(case, head, wanted)


def _fc(case: PreflightCase, head: ModelFolder, hidden: int) -> Iterator[Finding]:
    fc = head.tensor("fc.weight")
    if fc is None or fc.dtype not in PLAIN or len(fc.shape) != 2 or case.method not in {"eagle", "eagle3", "dflash"}:
        return
    parts = 2 if case.method == "eagle" else aux_layers.count(case.method, head.settings)
    if parts is not None and fc.shape[1] != parts * hidden:
        what = "the embedding and the last hidden state" if case.method == "eagle" else f"{parts} layers of the target"
        yield WIDTH.found(
            head.field,
            f"{head.path}: fc.weight is {list(fc.shape)}, but the target's hidden_size is {hidden}: its input must be "
            f"{parts} x {hidden} = {parts * hidden} numbers ({what}); {_WAY_OUT}",
        )


def medusa_heads(case: PreflightCase) -> Iterator[Finding]:
    """Medusa has a head for each token."""
    head = case.head
    if head is None or case.method != "medusa" or case.tokens is None:
        return
    named = head.number("num_heads") or head.number("medusa_num_heads")
    stored = _stored_heads(head)
    heads = stored or named
    if heads is not None and case.tokens > heads:
        yield HEADS.found(
            "--speculative-config num_speculative_tokens",
            f"num_speculative_tokens is {case.tokens}, but {head.path} has {heads} heads: medusa drafts one token "
            f"with each head; set num_speculative_tokens to {heads} or less",
        )


def _stored_heads(head: ModelFolder) -> int | None:
    """How many heads a Medusa checkpoint holds; None if the names of its tensors do not show it."""
    numbers = [int(found[1] or found[2]) for name in head.tensors or {} if (found := _MEDUSA.search(name))]
    return max(numbers) + 1 if numbers else None
