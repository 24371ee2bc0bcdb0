"""A draft model of its own must mean the target's tokens by the target's ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specdec_engine.rule import Finding, Severity
from specdec_runtime.preflight import vocabulary
from specdec_runtime.preflight.finding import FolderRule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from specdec_runtime.preflight.artifact import ModelFolder
    from specdec_runtime.preflight.case import PreflightCase

_WHEN: Final = "draft_model without use_heterogeneous_vocab"
SIZE: Final = FolderRule(
    id="VocabularySizeMismatch",
    severity=Severity.REFUSED,
    when=_WHEN,
    says="vocab_size is the same, including padding.",
    without="`Target and draft model should have the same vocabulary size` after 7 s.",
    source="run, 0.32",
)
MISMATCH: Final = FolderRule(
    id="VocabularyMismatch",
    severity=Severity.REFUSED,
    when=f"{_WHEN}; both tokenizers can be read",
    says="Every id means the same token.",
    without=(
        "No error and no warning: the service runs, no draft is accepted, and the speed is 0.4 times that of the "
        "baseline."
    ),
    source="run, 0.32",
)
NOT_COMPARED: Final = FolderRule(
    id="VocabularyNotCompared",
    severity=Severity.WARNED,
    when=f"{_WHEN}; a tokenizer is missing or has an unsupported format, and is not byte for byte the target's",
    says="The tokenizers can be compared.",
    without="-",
    source="-",
)
RULES: Final = (SIZE, MISMATCH, NOT_COMPARED)


def sizes(case: PreflightCase) -> Iterator[Finding]:
    """Target and draft have one vocabulary size."""
    found, target, draft = case.broken("VOCAB-EQUAL"), case.resolved.target, case.draft
    if found is not None and target is not None and draft is not None:
        yield SIZE.found(
            draft.field,
            f"{draft.path}/config.json has vocab_size {found.value}, but the target has {target.vocab_size}: a draft "
            "model must have the target's vocabulary, including padding; use a draft of the same family, or set "
            '"use_heterogeneous_vocab": true (vLLM 0.25 and later)',
        )


def token_ids(case: PreflightCase) -> Iterator[Finding]:
    """The same token stands behind every id; where it does not, nothing fails and no draft is ever accepted."""
    if case.pair is None:
        return
    target, draft = case.pair
    if target.tokens is not None and draft.tokens is not None:
        limits = [each for each in (target.number("vocab_size"), draft.number("vocab_size")) if each is not None]
        size = min(limits, default=max(*target.tokens, *draft.tokens) + 1)
        difference = vocabulary.compare(target.tokens, draft.tokens, size)
        if difference is not None:
            yield MISMATCH.found(draft.field, _difference(draft, target.tokens, draft.tokens, difference))
    elif not _sealed_alike(target, draft):
        missing = target if target.tokens is None else draft
        yield NOT_COMPARED.found(
            missing.field,
            f"{missing.path} has no tokenizer.json: the tokens of target and draft were not compared; add "
            "tokenizer.json for the comparison",
        )


def _sealed_alike(target: ModelFolder, draft: ModelFolder) -> bool:
    """Whether the two folders have a vocabulary file in common, byte for byte."""
    return bool(target.sealed & draft.sealed)


def _difference(
    artifact: ModelFolder, target: Mapping[int, str], draft: Mapping[int, str], difference: vocabulary.Difference
) -> str:
    return (
        f"{artifact.path}/tokenizer.json maps {difference.count} ids to other tokens than the target, first id "
        f"{difference.token_id}: {difference.draft!r} instead of {difference.target!r} (fingerprints "
        f"{vocabulary.fingerprint(draft)} and {vocabulary.fingerprint(target)}): a draft model must use the target's "
        "ids, or no draft is accepted; use a draft that was trained with the target's tokenizer"
    )
