"""What pods report about engines, models and devices. The operator reads it now and then, keeps it in the status, and
plans the next rollout with it.

A new fact changes no flag of running pods. Otherwise better knowledge alone would replace them. A pod that refused to
start because of its engine is planned again at once.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, Protocol

from specdec_engine import exit_codes
from specdec_engine.case import Json, ModelFolderFacts
from specdec_engine.found_engine import DIFFERS, is_engine, version_of
from specdec_engine.memory.facts import PodFact, Role, known_of, read_page, taken_in, valid, with_engine
from specdec_engine.version import IMAGES, Version
from specdec_operator.api.canonical import canonical, digest_of
from specdec_operator.guard.state import Phase, State
from specdec_operator.names import Key
from specdec_operator.observe.pods import ENGINE_PORT, PodView, spoken
from specdec_operator.reconcile.memory import FactMemory, ServiceMemory
from specdec_operator.reconcile.observed import Observed
from specdec_operator.reconcile.sis import Parsed, Sis
from specdec_operator.render.plan import ClusterFacts
from specdec_operator.staging.kserve import KServe

_SETTLED: Final = frozenset({Phase.MEASURING_BASELINE, Phase.WARMING_UP, Phase.WATCHING, Phase.DIALLED, Phase.SERVING})
_AGAIN: Final = 60.0
_LATER: Final = 600.0
"""Seconds until a pod is read again: the first if it did not report both models, else the second, because the memory in
use grows.
"""


class Teller(Protocol):
    """Reads from pods what they saw."""

    async def facts(self, namespace: str, address: str, *, port: int = ENGINE_PORT) -> bytes | None:
        """What the pod at an address reports; None if it does not answer so."""


def about(sis: Sis, kserve: KServe) -> dict[Role, str]:
    """What facts are about, as a hash of it by role: another artifact, or another pod, makes them void."""
    spec = canonical(sis.spec)
    accelerator = sis.spec.engine.accelerator
    draft = (spec.get("speculation") or {}).get("draft")
    model = spec["model"]
    parts: dict[Role, Any] = {Role.TARGET: [model["uri"], model.get("path")]}
    if draft and draft.get("uri"):
        parts[Role.DRAFT] = [draft["uri"], draft.get("path")]
    if sis.spec.memory.device is None:
        parts[Role.DEVICE] = [spec.get(part) for part in ("engine", "pod", "resources")]
    named = [(spec.get("engine") or {}).get(part) for part in ("version", "image", "runtime")]
    image = kserve.image(accelerator) or IMAGES[accelerator]  # the release's own, whose engine each release may change
    parts[Role.ENGINE] = [accelerator, *named, *([] if any(named[1:]) else [image])]
    return {role: digest_of(part) for role, part in parts.items()}


async def learn_facts(
    teller: Teller, key: Key, parsed: Parsed, memory: ServiceMemory, observed: Observed, now: float
) -> ServiceMemory:
    """The memory with the facts from a pod that runs the requested spec, or was refused with it."""
    sis, state = parsed.newest, memory.state
    if not isinstance(sis, Sis) or sis.spec.guest or state is None or not _follows(sis, memory):
        return memory
    of, pods = about(sis, observed.kserve), observed.objects.pods
    facts = replace(memory.facts, kept=_of_refused(memory.facts.kept, pods, state, of, sis.spec.engine.accelerator))
    memory = replace(memory, facts=facts)
    if not _is_of(state) or (now < facts.due and facts.asked == state.revision):
        return memory
    pod = next((each for each in pods if each.ready and not each.deleting and each.revision == state.revision), None)
    if pod is None or not pod.ip or pod.on_host:
        return memory
    told = read_page(await teller.facts(key[0], pod.ip, port=sis.spec.engine.port or ENGINE_PORT) or b"")
    configs = {**facts.configs, **{role: (of[role], config) for role, config in told.configs.items() if role in of}}
    kept = taken_in(facts.kept, told, of)
    facts = FactMemory(kept=kept, configs=configs, asked=state.revision, used=told.used)
    again = _AGAIN if told.bytes and _lacking(of, state, facts) else _LATER
    return replace(memory, facts=replace(facts, due=now + again))


def _follows(sis: Sis, memory: ServiceMemory) -> bool:
    """Whether the requested pods are those of this spec."""
    return memory.last_valid is not None and memory.last_valid[0] == sis.generation


def _is_of(state: State) -> bool:
    """Whether the requested pods serve: they did not load an artifact that changed after their start."""
    return state.phase in _SETTLED and state.revision == state.wanted


def _of_refused(
    kept: tuple[PodFact, ...], pods: tuple[PodView, ...], state: State, of: Mapping[Role, str], accelerator: str
) -> tuple[PodFact, ...]:
    """The facts with the engine that a pod found which refused the flags of another one; the next plan uses it.

    An engine that was planned with is replaced by an older one only. Otherwise two images under one tag would replace
    the pods for ever.
    """
    facts = valid(kept, of)
    used = next((each.engine for each in facts if each.role is Role.ENGINE and each.used), "")
    for pod in pods:
        said = spoken(pod.engine.message) if pod.revision == state.wanted and not pod.deleting else {}
        engine = said.get("found") if pod.engine.exit_code == exit_codes.REFUSED else None
        if said.get("reason") != DIFFERS or not isinstance(engine, str) or not is_engine(engine):
            continue
        version, planned = version_of(engine, accelerator), version_of(used, accelerator)
        if version and (not planned or Version.parse(version) < Version.parse(planned)):
            return with_engine(facts, engine, of, used=True)
    return kept


def _lacking(of: Mapping[Role, str], state: State, facts: FactMemory) -> bool:
    """Whether the serving pods could report a model that is not known."""
    drafts = state.phase is not Phase.MEASURING_BASELINE and state.rollback is None
    roles = [role for role in of if role is Role.TARGET or (role is Role.DRAFT and drafts)]
    return any(facts.configs.get(role, ("", {}))[0] != of[role] for role in roles)


def seen_of(of: Mapping[Role, str], kept: Iterable[PodFact], configs: Mapping[Role, tuple[str, Json]]) -> ClusterFacts:
    """What may be planned with, and what is known beyond that. of: hashes of what facts are to be about."""
    facts = valid(kept, of)
    models = {
        role: ModelFolderFacts(path=role.value, config=config)
        for role, (about_, config) in configs.items()
        if of.get(role) == about_
    }
    return ClusterFacts(
        known=known_of(each for each in facts if each.used),
        shown=known_of(facts),
        target=models.get(Role.TARGET),
        draft=models.get(Role.DRAFT),
    )
