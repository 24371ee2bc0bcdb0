"""Model folders in the terms of the rules about engines. Preflight reports their findings with messages of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from specdec_engine.case import Case, ModelFolderFacts
from specdec_engine.version import FLAVORS, NEWEST, Build, Flavor, Version

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
