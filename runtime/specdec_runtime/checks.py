"""Judges gathered facts: what vLLM would refuse after minutes of loading, and what it would never mention.

Pure: it reads no file. Every finding names the field, the value, the rule and the way out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from specdec_runtime import vocabulary

if TYPE_CHECKING:
    from specdec_runtime.artifact import Artifact


class Severity(StrEnum):
    """What a finding leads to."""

    REFUSE = "refuse"
    """The start is refused: the server would not start, or speculation could not work."""

    WARN = "warn"
    """The start goes on and the sentence is logged."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing that is wrong. Its id is the reason that the operator shows."""

    id: str
    severity: Severity
    field: str
    sentence: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """Everything that is judged together."""

    target: Artifact
    draft: Artifact | None
    method: str | None
    max_model_len: int | None
    heterogeneous: bool
    load_weights: bool


Check = Callable[[Case], Iterator[Finding]]


def judge(case: Case) -> tuple[Finding, ...]:
    """Return all findings, those of the first broken stage only, so that one cause is said once."""
    for stage in STAGES:
        found = tuple(finding for check in stage for finding in check(case))
        if any(finding.severity is Severity.REFUSE for finding in found):
            return found
    return tuple(finding for stage in STAGES for check in stage for finding in check(case))


def folders(case: Case) -> Iterator[Finding]:
    """Both folders are there and can be read."""
    for artifact in _artifacts(case):
        if not artifact.exists:
            yield _refuse(
                f"{artifact.role}Missing",
                artifact.field,
                f"{artifact.path} does not exist: the {artifact.role.lower()} model must lie there; "
                "check the path inside the artifact and that the volume holds it",
            )
        elif not artifact.readable:
            yield _refuse(
                f"{artifact.role}Unreadable",
                artifact.field,
                f"{artifact.path} is not a folder that this user can read: vLLM needs a folder of files; "
                "mount the folder itself and let group or others read it",
            )


def configs(case: Case) -> Iterator[Finding]:
    """Both folders hold a config.json that parses."""
    for artifact in _artifacts(case):
        if artifact.readable and artifact.config is None:
            yield _refuse(
                f"{artifact.role}ConfigInvalid",
                artifact.field,
                f"{artifact.config_trouble}: every model needs its config.json; copy the whole model folder again",
            )


def tokenizers(case: Case) -> Iterator[Finding]:
    """The target has a tokenizer; the draft's, where there is one, can be read."""
    for artifact in _artifacts(case):
        if artifact.tokenizer_trouble:
            yield _refuse(
                f"{artifact.role}TokenizerInvalid",
                artifact.field,
                f"{artifact.tokenizer_trouble}: it must be the file that the tokenizers library writes; copy it again",
            )
    if case.target.readable and not case.target.tokenizer_files:
        yield _refuse(
            "TargetTokenizerMissing",
            case.target.field,
            f"{case.target.path} holds no tokenizer (tokenizer.json, tokenizer.model, vocab.json, ...): "
            "vLLM takes the tokenizer from the target's folder; copy it there",
        )


def complete_weights(case: Case) -> Iterator[Finding]:
    """The weights are there, as long as their headers say."""
    for artifact in _artifacts(case) if case.load_weights else ():
        if artifact.weights_trouble:
            yield _refuse(
                f"{artifact.role}WeightsBroken",
                artifact.field,
                f"{artifact.path}: {artifact.weights_trouble}; fetch the weights of this model again",
            )
        elif artifact.tensors is None and not artifact.other_weights:
            yield _refuse(
                f"{artifact.role}WeightsMissing",
                artifact.field,
                f"{artifact.path} holds no weights (*.safetensors, *.bin, *.pt, *.gguf): "
                "copy them, or start with --load-format=dummy on purpose",
            )
        elif artifact.tensors is None:
            yield _warn(
                "WeightsNotChecked",
                artifact.field,
                f"{artifact.path} holds weights in a format that is not safetensors: "
                "their completeness was not checked; convert them to have it checked",
            )


def shapes(case: Case) -> Iterator[Finding]:
    """The embedding has the shape of config.json; vLLM would load a slice of a larger one in silence."""
    for artifact in _artifacts(case) if case.load_weights else ():
        vocabulary_size, hidden = artifact.number("vocab_size"), artifact.number("hidden_size")
        tensor = (artifact.tensors or {}).get("model.embed_tokens.weight")
        plain = tensor is not None and tensor.dtype in {"F32", "F16", "BF16"}
        if tensor is not None and plain and vocabulary_size and hidden and tensor.shape != (vocabulary_size, hidden):
            yield _refuse(
                f"{artifact.role}WeightsMismatch",
                artifact.field,
                f"{artifact.path}: model.embed_tokens.weight is {list(tensor.shape)} but config.json says "
                f"[{vocabulary_size}, {hidden}] (vocab_size, hidden_size): weights and config are of different "
                "models; copy both from one model",
            )


def vocabulary_sizes(case: Case) -> Iterator[Finding]:
    """Target and draft have one vocabulary size, padding included."""
    pair = _pair(case)
    if pair is None:
        return
    target, draft = pair[0].number("vocab_size"), pair[1].number("vocab_size")
    if target is not None and draft is not None and target != draft:
        yield _refuse(
            "VocabularySizeMismatch",
            pair[1].field,
            f"{pair[1].path}/config.json has vocab_size {draft}, the target has {target}: a draft model must have "
            "the target's vocabulary, padding included; choose a draft of the same family, or set "
            '"use_heterogeneous_vocab": true (vLLM 0.25 and later)',
        )


def token_ids(case: Case) -> Iterator[Finding]:
    """The same token stands behind every id; where it does not, nothing fails and no draft is ever accepted."""
    pair = _pair(case)
    if pair is None:
        return
    target, draft = pair[0].tokens, pair[1].tokens
    if target is None or draft is None:
        missing = pair[0] if target is None else pair[1]
        yield _warn(
            "VocabularyNotCompared",
            missing.field,
            f"{missing.path} holds no tokenizer.json: whether target and draft mean the same tokens was not compared; "
            "add tokenizer.json to have it compared",
        )
        return
    size = min(pair[0].number("vocab_size") or max(target) + 1, pair[1].number("vocab_size") or max(draft) + 1)
    difference = vocabulary.compare(target, draft, size)
    if difference is not None:
        yield _refuse("VocabularyMismatch", pair[1].field, _difference_sentence(pair[1], target, draft, difference))


def context(case: Case) -> Iterator[Finding]:
    """The draft reaches as far as the target is served; beyond that its drafts are counted but never accepted."""
    pair = _pair(case)
    reach = pair[1].number("max_position_embeddings") if pair else None
    if pair and reach is not None and case.max_model_len is not None and reach < case.max_model_len:
        yield _warn(
            "DraftContextShort",
            pair[1].field,
            f"{pair[1].path}/config.json has max_position_embeddings {reach}, the server runs with --max-model-len "
            f"{case.max_model_len}: drafts beyond position {reach} are computed but not accepted; choose a draft "
            "with a longer context or lower --max-model-len",
        )


# The order is the order of causes: what a later stage reads, an earlier one has found to be there.
STAGES: tuple[tuple[Check, ...], ...] = (
    (folders,),
    (configs, tokenizers, complete_weights),
    (shapes, vocabulary_sizes),
    (token_ids, context),
)


def _artifacts(case: Case) -> tuple[Artifact, ...]:
    return (case.target,) if case.draft is None else (case.target, case.draft)


def _pair(case: Case) -> tuple[Artifact, Artifact] | None:
    """Return target and draft where the draft is a language model of its own that must share the vocabulary."""
    if case.draft is None or case.method != "draft_model" or case.heterogeneous:
        return None
    return case.target, case.draft


def _difference_sentence(
    artifact: Artifact, target: Mapping[int, str], draft: Mapping[int, str], found: vocabulary.Difference
) -> str:
    return (
        f"{artifact.path}/tokenizer.json gives {found.count} ids another meaning than the target, first id "
        f"{found.token_id}: {found.draft!r} instead of {found.target!r} (fingerprints "
        f"{vocabulary.fingerprint(draft)} and {vocabulary.fingerprint(target)}): a draft model must use the target's "
        "ids, otherwise no draft is ever accepted; choose a draft that was trained with the target's tokenizer"
    )


def _refuse(reason: str, field: str, sentence: str) -> Finding:
    return Finding(id=reason, severity=Severity.REFUSE, field=field, sentence=sentence)


def _warn(reason: str, field: str, sentence: str) -> Finding:
    return Finding(id=reason, severity=Severity.WARN, field=field, sentence=sentence)
