"""Looks at the model folders before vLLM spends minutes on them; answers with findings or refuses.

It only looks at folders: a model that is named by its hub id is left to vLLM.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from specdec_engine import check
from specdec_engine.case import Case, ModelFolderFacts
from specdec_engine.resolve import resolve
from specdec_engine.rule import Finding, Severity
from specdec_engine.version import FLAVORS, NEWEST, Build, Flavor, Version
from specdec_runtime.preflight import artifact, stages, surroundings
from specdec_runtime.preflight.case import PreflightCase
from specdec_runtime.refusal import Refusal, RefusedError

if TYPE_CHECKING:
    from specdec_runtime.flags import Flags
    from specdec_runtime.preflight.artifact import ModelFolder
    from specdec_runtime.preflight.surroundings import Surroundings

_ELSEWHERE = "/mnt/draft/model"
"""Where a draft lies in a pod. On a laptop the name of its folder means nothing."""


def engine_case(target: ModelFolder, draft: ModelFolder | None, flags: Flags, around: Surroundings) -> Case:
    """Return what the engine is asked to start with. An engine that is not known is taken for the newest one."""
    version = Version(*(around.engine or NEWEST))
    flavor = FLAVORS[around.accelerator] if around.accelerator else Flavor.VLLM
    own: dict[str, Any] = {"ascend": version} if flavor is Flavor.VLLM_ASCEND else {}
    return Case(
        build=Build(flavor=flavor, vllm=version, **own),
        target=_model(target, str(target.path)),
        draft=_model(draft, str(draft.path) if around.packages is not None else _ELSEWHERE) if draft else None,
        speculation=flags.speculation,
        args=flags.args,
        packages=around.packages,
    )


def _model(artifact: ModelFolder, path: str) -> ModelFolderFacts:
    return ModelFolderFacts(path=path, config=artifact.config.document if artifact.config else None)


if TYPE_CHECKING:
    from specdec_runtime.flags import Flags

TARGET_FIELD: Final = "--model"
DRAFT_FIELD: Final = "--speculative-config model"


def gather(flags: Flags, around: surroundings.Surroundings | None = None) -> PreflightCase | None:
    """Return what the flags name; None if the target is not a folder. around: where it will run; else here."""
    if not _is_folder(flags.model):
        return None
    name, around = flags.draft, around or surroundings.here()
    target = artifact.gather("Target", TARGET_FIELD, Path(flags.model))
    draft = artifact.gather("Draft", DRAFT_FIELD, Path(name)) if name and _is_folder(name) else None
    resolved = resolve(engine_case(target, draft, flags, around))
    return PreflightCase(
        target=target, draft=draft, flags=flags, around=around, resolved=resolved, by_engine=check.found(resolved)
    )


def inspect(flags: Flags, around: surroundings.Surroundings | None = None) -> tuple[Finding, ...]:
    """Return the findings on what the flags name. around: as for gather."""
    case = gather(flags, around)
    return stages.judge(case) if case else ()


def enforce(findings: tuple[Finding, ...]) -> None:
    """Log warnings and notes, and raise the first refusal with the sentences of all."""
    refused = [finding for finding in findings if finding.rule.severity is Severity.REFUSED]
    for finding in findings:
        if finding.rule.severity is not Severity.REFUSED:
            word = "warning" if finding.rule.severity is Severity.WARNED else "note"
            print(f"specdec: {word}: {finding.rule.id}: {finding.message}", flush=True)
    if refused:
        message = "; also: ".join(finding.message for finding in refused)
        first = refused[0]
        found = first.value if isinstance(first.value, str) else ""
        raise RefusedError(Refusal(reason=first.rule.id, field=first.field, message=message, found=found))


def _is_folder(name: str) -> bool:
    """Whether a name is a path. A hub id such as org/model is not, and a single file is not, of which GGUF is the only
    kind.
    """
    return not name.endswith(".gguf") and _is_path(name)


def _is_path(name: str) -> bool:
    return name.startswith((".", "/", "~")) or os.path.exists(name)
