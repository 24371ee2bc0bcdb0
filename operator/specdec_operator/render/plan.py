"""What to serve: the spec as it stands, or what the guard's state asks for instead: fewer tokens, the last good
speculation, or none.
"""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from specdec_engine.case import Case, ModelFolderFacts
from specdec_engine.check import check
from specdec_engine.flags import compact, flag_text
from specdec_engine.memory.facts import NOTHING, Known
from specdec_engine.memory.plan import DeviceMemory, MemoryPlan
from specdec_engine.rule import Finding, Severity
from specdec_engine.version import Build
from specdec_operator import names
from specdec_operator.api.canonical import canonical
from specdec_operator.api.spec import Spec
from specdec_operator.api.speculation import Speculation
from specdec_operator.api.taken import refuse_taken
from specdec_operator.engine.budget import budget, within
from specdec_operator.engine.image import EngineChoice, choose_engine
from specdec_operator.engine.instrument import Instrument, Instrumented, instrumented
from specdec_operator.engine.instrument import findings as of_instrument
from specdec_operator.engine.translate import EngineRequest, path_of, translate
from specdec_operator.errors import Invalid
from specdec_operator.guard.decisions import KnownGood
from specdec_operator.guard.memory import STEP
from specdec_operator.guard.state import State
from specdec_operator.staging.kserve import KServe
from specdec_operator.staging.layout import DRAFT_PATH, RUNTIME_PATH, Layout, lay_out

_MOST_REMEMBERED = 1024
"""Characters of a block that is remembered: the status is kept small."""


def effective_speculation(spec: Spec, state: State) -> Speculation | None:
    """The speculation that the pods are to run; None: no speculation, also if it cannot be read any more."""
    if state.serves_baseline or spec.speculation is None:
        return None
    if state.rollback is not None and state.rollback.good is not None:
        try:
            return Speculation.model_validate(json.loads(state.rollback.good.block))
        except ValueError:
            return None
    in_flags = state.reduced if state.by_dial is None else None
    return reduced(spec.speculation, in_flags.tokens) if in_flags else spec.speculation


def drafted(speculation: Speculation | None, state: State) -> Speculation | None:
    """A speculation of the flags as the pods draft it: the dial may ask for fewer tokens."""
    dialled = state.by_dial
    return reduced(speculation, dialled.tokens) if speculation and dialled else speculation


def reduced(speculation: Speculation, tokens: int) -> Speculation:
    """The same with fewer tokens per step, whatever the batch."""
    steps = speculation.tokens_by_batch_size
    fewer = steps and [each.model_copy(update={"tokens": min(each.tokens, tokens)}) for each in steps]
    return speculation.model_copy(update={"tokens": tokens, "tokens_by_batch_size": fewer})


def known_good_of(speculation: Speculation, state: State, *, tokens: int, rate: float, at: float) -> KnownGood | None:
    """What is served, to be remembered should it pass; None for a block that is too long to be kept."""
    block = compact(canonical(speculation))
    if len(block) > _MOST_REMEMBERED:
        return None
    digest = hashlib.sha256(block.encode()).hexdigest()[:10]
    of = state.rollback.good.of if state.rollback and state.rollback.good else state.speculation
    return KnownGood(
        block=block, digest=digest, of=of, tokens=tokens, rate=round(rate, 2), at=at, lowered=state.lowered
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What the pods are to run: runtime, flags, artifacts, and the speculation among them (None: plain).

    tokens: K; 0 where nothing is guessed, or where the draft's own config decides it.
    warnings: what works and the user should know. refused: what the engine would not start with, or start in vain, and
        what this KServe would leave out. noted: what only the command shows.
    instrument: how specdec_runtime comes into the pods. operator_image: what it is brought from.
    build: the engine inside the image. image: of the engine's container; empty: the runtime's.
    """

    spec: Spec
    runtime: str
    speculation: Speculation | None
    tokens: int
    args: tuple[str, ...]
    warnings: tuple[Finding, ...]
    refused: tuple[Finding, ...]
    layout: Layout
    memory: MemoryPlan
    build: Build
    image: str = ""
    instrument: Instrumented = field(default_factory=Instrumented)
    operator_image: str = ""
    noted: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterFacts:
    """What a cluster reported. device: of the pods, as found out; None: as far as the spec shows it.

    known: what pods reported and flags are planned with. shown: all that they have reported since. target, draft:
    config.json as they reported it, for the rules; no flag is made of them. prepared: whether a runtime that is not
    this project's is seen to start specdec_runtime.
    """

    device: DeviceMemory | None = None
    known: Known = NOTHING
    shown: Known = NOTHING
    target: ModelFolderFacts | None = None
    draft: ModelFolderFacts | None = None
    prepared: bool = False

    @property
    def in_full(self) -> "ClusterFacts":
        """The same with flags that are planned with all that is known."""
        return replace(self, known=self.shown)


def _told(case: Case, seen: ClusterFacts, known: Collection[Finding]) -> tuple[Finding, ...]:
    """Findings of the rules on the models as pods reported them, beyond those without them. They refuse nothing: the
    pods that reported have started, and the preflight of the next ones sees the files themselves.
    """
    if seen.target is None and seen.draft is None:
        return ()
    found = check(replace(case, target=case.target or seen.target, draft=case.draft or seen.draft))
    return tuple(each for each in found if each not in known)


def plan(
    spec: Spec,
    state: State,
    *,
    name: str,
    synthetic: bool = False,
    target: ModelFolderFacts | None = None,
    draft: ModelFolderFacts | None = None,
    kserve: KServe | None = None,
    seen: ClusterFacts | None = None,
) -> Plan:
    """The plan for a state. Raises Invalid for a spec that no flags can express, whatever the state.

    synthetic: whether acceptance may be pretended. target, draft, kserve: what is known of the models and of KServe;
    rules about what is not known are silent. seen: what the cluster reported.

    While the service runs plain the draft is not staged either: its volume may be what kept the pods down.
    """
    if (guest := spec.guest) is not None:
        raise Invalid(guest.field, guest.name, f"{guest} is guarded, not served, so there is nothing to render")
    speculation = effective_speculation(spec, state)
    base = _base(spec, speculation, name=name, kserve=kserve, seen=seen or ClusterFacts())
    request, findings = _requested(base, synthetic=synthetic, target=target, draft=draft)
    told = _told(request.case, base.seen, findings) if speculation is not None else ()
    return _with_memory(base, request, findings, told, lowered=state.lowered)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Base:
    """What the flags are planned on: the engine, how specdec_runtime comes into its pods, and where its models lie.

    written: the spec as JSON, with the speculation that is to run, or else with the user's own.
    findings: about all of these, before a flag is planned.
    """

    spec: Spec
    name: str
    speculation: Speculation | None
    written: dict[str, Any]
    cluster: KServe
    seen: ClusterFacts
    chosen: EngineChoice
    instrument: Instrumented
    layout: Layout
    findings: tuple[Finding, ...]


def _base(
    spec: Spec, speculation: Speculation | None, *, name: str, kserve: KServe | None, seen: ClusterFacts
) -> _Base:
    """What the flags of a service are planned on. Raises Invalid for what no KServe could bring, and for names and
    places that are not the user's to choose.
    """
    cluster = kserve or KServe()
    of_state = spec.model_copy(update={"speculation": speculation or spec.speculation})
    written = of_state.model_dump(mode="json", by_alias=True, exclude_none=True)
    of_image = cluster.image(spec.engine.accelerator.value)
    chosen = choose_engine(written["engine"], runtime_image=of_image, found=seen.known.engine)
    engine = {**written["engine"], **({"image": chosen.image} if chosen.image else {})}
    instrument = _instrument(engine, cluster, seen)
    beside = [RUNTIME_PATH] if instrument.how is Instrument.INJECT else []
    layout = lay_out(written, name=name, kserve=kserve, draft=speculation is not None, beside=beside)
    refuse_taken(written, name=name, layout=layout)
    return _Base(
        spec=spec,
        name=name,
        speculation=speculation,
        written=written,
        cluster=cluster,
        seen=seen,
        chosen=chosen,
        instrument=instrument,
        layout=layout,
        findings=(*layout.findings, *of_instrument(engine, instrument)),
    )


def _instrument(engine: Mapping[str, Any], cluster: KServe, seen: ClusterFacts) -> Instrumented:
    """How specdec_runtime comes into the pods of this engine, in this cluster."""
    return instrumented(
        engine,
        runtimes=cluster.names,
        operator_image=cluster.operator_image,
        prepared=seen.prepared,
    )


def _requested(
    base: _Base, *, synthetic: bool, target: ModelFolderFacts | None, draft: ModelFolderFacts | None
) -> tuple[EngineRequest, tuple[Finding, ...]]:
    """What is requested of the engine, and all that is found about it."""
    translated = partial(translate, base.written, target=target, chosen=base.chosen)
    # Translated even where the pods run plain: a speculation that no flags can express is refused in every state.
    request = translated(draft_path=base.layout.draft or DRAFT_PATH, synthetic=synthetic, draft=draft)
    if base.speculation is None and base.spec.speculation is not None:
        # The way out of a speculation is never barred by a rule of the engine.
        return translated(draft_path=DRAFT_PATH, speculate=False), base.findings
    return request, (*base.findings, *base.chosen.findings, *request.findings, *check(request.case))


def _with_memory(
    base: _Base, request: EngineRequest, findings: Sequence[Finding], told: Sequence[Finding], *, lowered: int
) -> Plan:
    """The plan with the flags of a request, within the device's memory. lowered: steps that the guard took off it."""
    spec, seen, further = base.spec, base.seen, STEP * lowered
    memory = budget(
        base.written, request, device=seen.device, lowered_further=further, known=seen.known, shown=seen.shown
    )
    args = arguments(
        within(request, memory),
        served=(*_served(spec, base.name), *_modules(spec, base.layout)),
        target_path=base.layout.target,
        extra=request.extra,
    )
    return Plan(
        spec=spec,
        runtime=spec.engine.runtime or base.cluster.runtime(spec.engine.accelerator.value),
        speculation=base.speculation,
        tokens=(request.case.speculation or {}).get("num_speculative_tokens", 0),
        args=args,
        warnings=(*_of(Severity.WARNED, findings), *told),
        refused=_of(Severity.REFUSED, findings),
        noted=_of(Severity.NOTED, findings),
        layout=base.layout,
        memory=memory,
        build=base.chosen.build,
        image=base.chosen.image,
        instrument=base.instrument,
        operator_image=base.cluster.operator_image,
    )


def _of(severity: Severity, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    return tuple(each for each in findings if each.rule.severity is severity)


def refuse(planned: Plan) -> None:
    """Raises Invalid for the first thing that a rule refuses."""
    for each in planned.refused:
        raise Invalid(path_of(each.field), each.value, f"{each.message} (rule {each.rule.id})")


def _served(spec: Spec, name: str) -> tuple[str, ...]:
    """The flag with the names that clients may send."""
    first, aliases = (spec.model.name or name, spec.model.aliases) if spec.model else (name, None)
    return ("--served-model-name", first, *aliases) if aliases else (f"--served-model-name={first}",)


def _modules(spec: Spec, layout: Layout) -> tuple[str, ...]:
    """The flag with LoRA adapters, by name and folder."""
    adapters = spec.model.adapters if spec.model else None
    pairs = zip(adapters or (), layout.adapters, strict=True)
    modules = [f"{each.name}={folder}" for each, folder in pairs]
    return ("--lora-modules", *modules) if modules else ()


def arguments(
    request: EngineRequest, *, served: Sequence[str], target_path: str, extra: Sequence[str]
) -> tuple[str, ...]:
    """All flags but those of the runtime (--port), in a fixed order; `extra` are the user's own, as they are.

    In the operator's own Kubernetes puts no variable: it could end a text of --speculative-config, and begin another.
    """
    flags = [f"--model={target_path}", *served]
    flags += [flag_text(name, value) for name, value in request.flags.items()]
    speculation = request.case.speculation
    config = [] if speculation is None else [f"--speculative-config={compact(speculation)}"]
    return (*map(names.literal, flags), *extra, *map(names.literal, config))
