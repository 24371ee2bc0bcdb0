"""A sis, rendered with the operator's own code, without a cluster."""

from dataclasses import dataclass
from typing import Any, Final

from specdec_operator.api.spec import Spec
from specdec_operator.cli.judge import allows_synthetic, schema
from specdec_operator.cli.structure import filled
from specdec_operator.engine.builds import build_of
from specdec_operator.engine.case import Model
from specdec_operator.engine.memory.plan import MemoryPlan
from specdec_operator.guard.state import Phase, Rollback, State
from specdec_operator.serving.owner import Owner
from specdec_operator.serving.plan import plan, refuse
from specdec_operator.serving.render import render
from specdec_operator.staging.kserve import KServe

_ASKED: Final = Rollback(reason="Asked", message="rendered without speculation", at=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendering:
    """The InferenceService, and what it runs: the runtime's name, the engine, vLLM's flags, the memory plan."""

    manifest: dict[str, Any]
    runtime: str
    engine: str
    flags: tuple[str, ...]
    memory: MemoryPlan


def rendering(
    body: dict[str, Any],
    *,
    target: Model | None = None,
    draft: Model | None = None,
    plain: bool = False,
    kserve: KServe | None = None,
) -> Rendering:
    """What the operator would apply, with what is known of the models and of KServe.

    The owner reference is left out: only a cluster gives its UID. Raises Invalid for what it would refuse.
    """
    spec = Spec.model_validate(filled(body, schema())["spec"])
    meta = body["metadata"]
    state = State(phase=Phase.SERVING, since=0.0, speculation="", rollback=_ASKED if plain else None)
    planned = plan(
        spec,
        state,
        name=meta["name"],
        synthetic=allows_synthetic(body),
        target=target,
        draft=draft,
        kserve=kserve,
    )
    refuse(planned)
    owner = Owner(name=meta["name"], namespace=meta.get("namespace", "default"), uid="")
    manifest = render(planned, owner).manifest
    del manifest["metadata"]["ownerReferences"]
    return Rendering(
        manifest=manifest,
        runtime=manifest["spec"]["predictor"]["model"]["runtime"],
        engine=str(build_of(spec.engine.accelerator.value, spec.engine.version)),
        flags=planned.args,
        memory=planned.memory,
    )
