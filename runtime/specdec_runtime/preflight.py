"""Looks at the model folders before vLLM spends minutes on them; answers with findings or refuses.

It only looks at folders: a model that is named by its hub id is left to vLLM.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from specdec_runtime import artifact, checks
from specdec_runtime.refusal import Refusal, RefusedError

if TYPE_CHECKING:
    from specdec_runtime.flags import Flags

TARGET_FIELD = "--model"
DRAFT_FIELD = "--speculative-config model"


def inspect(flags: Flags) -> tuple[checks.Finding, ...]:
    """Return the findings on what the flags name."""
    if not _is_folder(flags.model):
        return ()
    draft = flags.draft
    return checks.judge(
        checks.Case(
            target=artifact.gather("Target", TARGET_FIELD, Path(flags.model)),
            draft=artifact.gather("Draft", DRAFT_FIELD, Path(draft)) if draft and _is_folder(draft) else None,
            method=flags.method,
            max_model_len=flags.max_model_len,
            heterogeneous=bool((flags.speculation or {}).get("use_heterogeneous_vocab")),
            load_weights=flags.load_format != "dummy",
        )
    )


def enforce(findings: tuple[checks.Finding, ...]) -> None:
    """Log the warnings, and raise the first refusal with the sentences of all."""
    refused = [finding for finding in findings if finding.severity is checks.Severity.REFUSE]
    for finding in findings:
        if finding.severity is checks.Severity.WARN:
            print(f"specdec: warning: {finding.id}: {finding.sentence}", flush=True)
    if refused:
        message = "; also: ".join(finding.sentence for finding in refused)
        raise RefusedError(Refusal(reason=refused[0].id, field=refused[0].field, message=message))


def _is_folder(name: str) -> bool:
    """Tell a path from a hub id such as org/model."""
    return name.startswith((".", "/", "~")) or Path(name).exists()
