"""Folders, configs, tokenizers and whole weights: what everything else is read from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specdec_engine.rule import Finding, Severity
from specdec_runtime.preflight.finding import FolderRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from specdec_runtime.preflight.case import PreflightCase

MISSING: Final = FolderRule(
    id="*Missing",
    severity=Severity.REFUSED,
    when="a path is given",
    says="The folder exists.",
    without="`Invalid repository ID or local directory specified` after 7 s.",
    source="run, 0.32",
)
UNREADABLE: Final = FolderRule(
    id="*Unreadable",
    severity=Severity.REFUSED,
    when="a path is given",
    says="It is a folder, and the engine's user can read it.",
    without="As above, or a PermissionError during loading.",
    source="not run",
)
CONFIG: Final = FolderRule(
    id="*ConfigInvalid",
    severity=Severity.REFUSED,
    when="always",
    says="config.json is a JSON object.",
    without="A traceback of transformers.",
    source="not run",
)
TOKENIZER: Final = FolderRule(
    id="*TokenizerInvalid",
    severity=Severity.REFUSED,
    when="the folder has a tokenizer.json or vocab.json",
    says="It has a vocabulary.",
    without="A traceback of tokenizers for the target. The engine never reads the draft's, so it reports nothing.",
    source="config/speculative.py, 0.32; not run",
)
NO_TOKENIZER: Final = FolderRule(
    id="TargetTokenizerMissing",
    severity=Severity.REFUSED,
    when="--tokenizer and --skip-tokenizer-init are not set",
    says="The target's folder has a tokenizer.",
    without="A traceback of transformers.",
    source="not run",
)
BROKEN: Final = FolderRule(
    id="*WeightsBroken",
    severity=Severity.REFUSED,
    when="weights are safetensors",
    says="Every file of the index exists, and its content matches its header, without gap or overlap.",
    without="`SafetensorError` after 21 s; for large models after minutes of loading.",
    source="run, 0.32",
)
NO_WEIGHTS: Final = FolderRule(
    id="*WeightsMissing",
    severity=Severity.REFUSED,
    when="--load-format is not dummy",
    says="The folder has weights.",
    without="`Cannot find any model weights` after 22 s.",
    source="run, 0.32",
)
NOT_CHECKED: Final = FolderRule(
    id="WeightsNotChecked",
    severity=Severity.WARNED,
    when="weights are *.bin, *.pt, *.pth or *.gguf",
    says="Weights are safetensors: other formats are not checked.",
    without="-",
    source="-",
)
RULES: Final = (MISSING, UNREADABLE, CONFIG, TOKENIZER, NO_TOKENIZER, BROKEN, NO_WEIGHTS, NOT_CHECKED)


def folders(case: PreflightCase) -> Iterator[Finding]:
    """Both folders are there and can be read."""
    for each in case.artifacts:
        if not each.exists:
            yield MISSING.found(
                each.field,
                f"{each.path} does not exist: the {each.role.lower()} model must be there; check the path inside the "
                "artifact, and that the volume has it",
                each.role,
            )
        elif not each.readable:
            yield UNREADABLE.found(
                each.field,
                f"{each.path} is not a folder that this user can read: vLLM needs a folder of files; mount the folder "
                "itself, with read permission for group or others",
                each.role,
            )


def configs(case: PreflightCase) -> Iterator[Finding]:
    """Both folders hold a config.json that parses."""
    for each in case.artifacts:
        if each.readable and each.config is None:
            yield CONFIG.found(
                each.field,
                f"{each.config_trouble}: every model needs its config.json; copy the whole model folder again",
                each.role,
            )


def tokenizers(case: PreflightCase) -> Iterator[Finding]:
    """The target has a tokenizer; the draft's tokenizer, if there is one, can be read."""
    for each in case.artifacts:
        if each.tokenizer_trouble:
            yield TOKENIZER.found(
                each.field,
                f"{each.tokenizer_trouble}: it must be a file of the tokenizers library; copy it again",
                each.role,
            )
    if case.target.readable and not case.target.tokenizer_files and not case.flags.tokenizer_elsewhere:
        yield NO_TOKENIZER.found(
            case.target.field,
            f"{case.target.path} has no tokenizer (tokenizer.json, tokenizer.model, vocab.json, ...): vLLM takes the "
            "tokenizer from the target's folder; copy it there",
        )


def weights(case: PreflightCase) -> Iterator[Finding]:
    """The weights exist, with as many bytes as their headers announce."""
    for each in case.artifacts if case.load_weights else ():
        if each.weights_trouble:
            yield BROKEN.found(
                each.field, f"{each.path}: {each.weights_trouble}; download the weights of this model again", each.role
            )
        elif each.tensors is None and not each.other_weights:
            yield NO_WEIGHTS.found(
                each.field,
                f"{each.path} has no weights (*.safetensors, *.bin, *.pt, *.gguf): vLLM loads them from there; copy "
                "them, or set --load-format=dummy if this is intended",
                each.role,
            )
        elif each.tensors is None:
            yield NOT_CHECKED.found(
                each.field,
                f"{each.path} has weights in a format that is not safetensors: their completeness was not checked; "
                "convert them to safetensors for the check",
            )
