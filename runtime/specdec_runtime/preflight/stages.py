"""All checks in the order of causes, and all their rules. Pure: it reads no file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from specdec_engine.rule import Finding, deployable
from specdec_runtime.preflight import (
    check_driver,
    check_engine,
    check_files,
    check_heads,
    check_layers,
    check_limits,
    check_memory,
    check_method,
    check_mtp,
    check_serving,
    check_speculators,
    check_tensors,
    check_vocabulary,
)
from specdec_runtime.preflight.case import PreflightCase

if TYPE_CHECKING:
    from specdec_runtime.preflight.finding import FolderRule

Check = Callable[[PreflightCase], Iterator[Finding]]

STAGES: Final[tuple[tuple[Check, ...], ...]] = (
    (check_driver.new_enough, check_engine.rendered_for, check_files.folders),
    (check_files.configs, check_files.tokenizers, check_files.weights, check_speculators.target),
    (
        check_method.fits,
        check_method.in_engine,
        check_method.path,
        check_speculators.kind,
        check_mtp.heads,
        check_serving.packages,
        check_limits.npu,
    ),
    (
        check_tensors.shapes,
        check_tensors.whole,
        check_vocabulary.sizes,
        check_heads.vocabularies,
        check_heads.widths,
        check_heads.medusa_heads,
        check_layers.aux,
        check_layers.parallel,
        check_mtp.tensors,
        check_mtp.divisible,
    ),
    (
        check_vocabulary.token_ids,
        check_tensors.sound,
        check_memory.memory,
        check_serving.sampling,
        check_method.architecture,
        check_layers.block,
        check_speculators.verifier,
        check_speculators.settings,
        check_limits.context,
        check_limits.dtype,
        check_limits.quantization,
    ),
)
"""What a later stage reads, an earlier one has found to be there."""

RULES: Final[tuple[FolderRule, ...]] = (
    *check_files.RULES,
    *check_speculators.RULES,
    *check_method.RULES,
    *check_mtp.RULES,
    *check_vocabulary.RULES,
    *check_heads.RULES,
    *check_layers.RULES,
    *check_tensors.RULES,
    *check_limits.RULES,
    *check_serving.RULES,
    *check_memory.RULES,
    *check_driver.RULES,
    *check_engine.RULES,
)


def judge(case: PreflightCase) -> tuple[Finding, ...]:
    """Return all findings. If a stage is broken, return only that stage's findings, so that one cause is reported
    once.
    """
    findings: list[Finding] = []
    for stage in STAGES:
        new = tuple(finding for check in stage for finding in check(case))
        if not deployable(new):
            return new
        findings += new
    return tuple(findings)
