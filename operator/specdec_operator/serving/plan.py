"""What to serve: the spec as it stands, or the plain service while speculation is rolled back."""

from dataclasses import dataclass

from specdec_operator.api.spec import Spec
from specdec_operator.api.speculation import Speculation
from specdec_operator.engine.arguments import arguments
from specdec_operator.engine.asked import ask, path_of
from specdec_operator.engine.budget import budget, within
from specdec_operator.engine.case import Model
from specdec_operator.engine.check import check
from specdec_operator.engine.memory.plan import MemoryPlan
from specdec_operator.engine.rule import Finding, Severity
from specdec_operator.errors import Invalid
from specdec_operator.guard.state import State
from specdec_operator.staging import layout


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What the pods are to run: flags, mounts, and the speculation among them (None: plain).

    tokens: K; 0 where nothing is guessed, or where the draft's own config decides it.
    warnings: what the engine takes and the user should know. refused: what it would not start with, or start in vain.
    """

    spec: Spec
    speculation: Speculation | None
    tokens: int
    served_name: str
    args: tuple[str, ...]
    warnings: tuple[Finding, ...]
    refused: tuple[Finding, ...]
    mounts: tuple[layout.Mount, ...]
    memory: MemoryPlan


def plan(
    spec: Spec,
    state: State,
    *,
    name: str,
    synthetic: bool = False,
    target: Model | None = None,
    draft: Model | None = None,
) -> Plan:
    """The plan for a state. Raises Invalid for a spec that cannot be said to an engine, whatever the state.

    synthetic: whether acceptance may be pretended. target, draft: what is known of the models; rules about what is not
    known are silent.

    While speculation is rolled back the draft is not mounted either: its volume may be what kept the pods down.
    """
    extra = spec.engine.args or []
    written = spec.model_dump(mode="json", by_alias=True, exclude_none=True)
    with_draft = layout.mounts(written["model"], written.get("speculation", {}).get("draft"))
    speculation = None if state.rollback is not None else spec.speculation
    asked = ask(written, draft_path=layout.DRAFT_PATH, synthetic=synthetic, target=target, draft=draft)
    findings: tuple[Finding, ...] = ()
    if state.rollback is None:
        findings = (*asked.findings, *check(asked.case))
    else:  # the way out of a speculation is never barred by a rule
        asked = ask(written, draft_path=layout.DRAFT_PATH, target=target, speculate=False)
    memory = budget(written, asked)
    served_name = spec.model.name or name
    return Plan(
        spec=spec,
        speculation=speculation,
        tokens=(asked.case.speculation or {}).get("num_speculative_tokens", 0),
        served_name=served_name,
        warnings=_of(findings, Severity.WARNED),
        refused=_of(findings, Severity.REFUSED),
        args=arguments(within(asked, memory), served_name=served_name, target_path=layout.TARGET_PATH, extra=extra),
        mounts=with_draft if speculation else with_draft[:1],
        memory=memory,
    )


def refuse(planned: Plan) -> None:
    """Raises Invalid for the first thing that the rules of the engine refuse."""
    for each in planned.refused:
        raise Invalid(path_of(each.field), each.value, f"{each.message} (rule {each.rule.id})")


def _of(findings: tuple[Finding, ...], severity: Severity) -> tuple[Finding, ...]:
    return tuple(each for each in findings if each.rule.severity is severity)
