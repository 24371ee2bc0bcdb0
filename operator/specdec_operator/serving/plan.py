"""What to serve: the spec as it stands, or the plain service while speculation is rolled back."""

from dataclasses import dataclass

from specdec_operator.api.spec import Spec, Speculation
from specdec_operator.engine.arguments import arguments, refuse_owned
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

    While speculation is rolled back the draft is not mounted either: its volume may be what kept the pods down.
    """
    refuse_owned(spec.engine.args)
    asked = spec.speculation
    with_draft = layout.mounts(spec.model, asked.draft if asked else None)
    speculation = None if state.rollback is not None else asked
    mounts = with_draft if speculation else with_draft[:1]
    served_name = spec.model.name or name
    args = arguments(
        spec.engine,
        served_name=served_name,
        target_path=layout.TARGET_PATH,
        speculation=speculation,
        draft_path=layout.DRAFT_PATH,
    )
    return Plan(spec=spec, speculation=speculation, served_name=served_name, args=args, mounts=mounts)
