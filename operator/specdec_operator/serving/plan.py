"""What to serve: the spec as it stands, or the plain service while speculation is rolled back."""

from dataclasses import dataclass

from specdec_operator.api.spec import Spec, Speculation
from specdec_operator.engine.arguments import arguments, refuse_owned
from specdec_operator.errors import Invalid
from specdec_operator.guard.state import State
from specdec_operator.staging import layout


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What the pods are to run: flags, mounts, and the speculation among them (None: plain)."""

    spec: Spec
    speculation: Speculation | None
    served_name: str
    args: tuple[str, ...]
    mounts: tuple[layout.Mount, ...]


def plan(spec: Spec, state: State, *, name: str) -> Plan:
    """The plan for a state. Raises Invalid for a spec that no engine would take, whatever the state.

    The draft stays mounted while speculation is rolled back, so that only flags differ.
    """
    refuse_owned(spec.engine.args)
    if spec.speculation is not None and spec.speculation.draft is not None and spec.speculation.draft.uri is None:
        _refuse_same_folder(spec)
    asked = spec.speculation
    mounts = layout.mounts(spec.model, asked.draft if asked else None)
    speculation = None if state.rollback is not None else asked
    served_name = spec.model.name or name
    args = arguments(
        spec.engine,
        served_name=served_name,
        target_path=layout.TARGET_PATH,
        speculation=speculation,
        draft_path=layout.DRAFT_PATH,
    )
    return Plan(spec=spec, speculation=speculation, served_name=served_name, args=args, mounts=mounts)


def _refuse_same_folder(spec: Spec) -> None:
    draft = spec.speculation.draft if spec.speculation else None
    if draft is not None and draft.path == spec.model.path:
        raise Invalid("spec.speculation.draft.path", draft.path, "is the target's own folder; name the draft's")
