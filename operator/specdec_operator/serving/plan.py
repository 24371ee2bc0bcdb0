"""What to serve: the spec as it stands, or what the guard's state asks for instead."""

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
from specdec_operator.serving.owner import refuse_labels
from specdec_operator.serving.served import served
from specdec_operator.staging.kserve import KServe
from specdec_operator.staging.layout import DRAFT_PATH, Layout, lay_out


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What the pods are to run: flags, artifacts, and the speculation among them (None: plain).

    tokens: K; 0 where nothing is guessed, or where the draft's own config decides it.
    warnings: what works and the user should know. refused: what the engine would not start with, or start in vain, and
        what this KServe would leave out.
    """

    spec: Spec
    speculation: Speculation | None
    tokens: int
    served_name: str
    args: tuple[str, ...]
    warnings: tuple[Finding, ...]
    refused: tuple[Finding, ...]
    layout: Layout
    memory: MemoryPlan


def plan(
    spec: Spec,
    state: State,
    *,
    name: str,
    synthetic: bool = False,
    target: Model | None = None,
    draft: Model | None = None,
    kserve: KServe | None = None,
) -> Plan:
    """The plan for a state. Raises Invalid for a spec that cannot be said to an engine, whatever the state.

    synthetic: whether acceptance may be pretended. target, draft, kserve: what is known of the models and of the
    cluster; rules about what is not known are silent.

    While the service runs plain the draft is not staged either: its volume may be what kept the pods down.
    """
    extra = spec.engine.args or []
    speculation = served(spec, state)
    refuse_labels(spec.pod.labels if spec.pod else None)
    of_state = spec.model_copy(update={"speculation": speculation or spec.speculation})
    written = of_state.model_dump(mode="json", by_alias=True, exclude_none=True)
    layout = lay_out(written, name=name, kserve=kserve, draft=speculation is not None)
    asked = ask(written, draft_path=layout.draft or DRAFT_PATH, synthetic=synthetic, target=target, draft=draft)
    findings = layout.findings
    if speculation is not None or spec.speculation is None:
        findings = (*findings, *asked.findings, *check(asked.case))
    else:  # the way out of a speculation is never barred by a rule of the engine
        asked = ask(written, draft_path=DRAFT_PATH, target=target, speculate=False)
    memory = budget(written, asked)
    served_name = spec.model.name or name
    return Plan(
        spec=spec,
        speculation=speculation,
        tokens=(asked.case.speculation or {}).get("num_speculative_tokens", 0),
        served_name=served_name,
        warnings=_of(findings, Severity.WARNED),
        refused=_of(findings, Severity.REFUSED),
        args=arguments(within(asked, memory), served_name=served_name, target_path=layout.target, extra=extra),
        layout=layout,
        memory=memory,
    )


def refuse(planned: Plan) -> None:
    """Raises Invalid for the first thing that a rule refuses."""
    for each in planned.refused:
        raise Invalid(path_of(each.field), each.value, f"{each.message} (rule {each.rule.id})")


def _of(findings: tuple[Finding, ...], severity: Severity) -> tuple[Finding, ...]:
    return tuple(each for each in findings if each.rule.severity is severity)
