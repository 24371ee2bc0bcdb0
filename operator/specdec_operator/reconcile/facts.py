"""What pods report about their models and devices. The operator reads it now and then, keeps it in the status, and
plans the next rollout with it.

A new fact changes no flag of running pods. Otherwise better knowledge alone would replace them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, Protocol

from specdec_engine.case import Json, ModelFolderFacts
from specdec_engine.memory.facts import PodFact, Role, known_of, read_page, taken_in, valid
from specdec_operator.api.canonical import canonical, digest_of
from specdec_operator.guard.state import Phase, State
from specdec_operator.names import Key
from specdec_operator.observe.pods import ENGINE_PORT
from specdec_operator.reconcile.memory import FactMemory, ServiceMemory
from specdec_operator.reconcile.observed import Observed
from specdec_operator.reconcile.sis import Parsed, Sis
from specdec_operator.render.plan import ClusterFacts

_SETTLED: Final = frozenset({Phase.MEASURING_BASELINE, Phase.WARMING_UP, Phase.WATCHING, Phase.SERVING})
_AGAIN: Final = 60.0
_LATER: Final = 600.0
"""Seconds until a pod is read again: the first if it did not report both models, else the second, because the memory in
use grows.
"""


class Teller(Protocol):
    """Reads from pods what they saw."""

    async def facts(self, namespace: str, address: str, *, port: int = ENGINE_PORT) -> bytes | None:
        """What the pod at an address reports; None if it does not answer so."""


def about(sis: Sis) -> dict[Role, str]:
    """What facts are about, as a hash of it by role: another artifact, or another pod, makes them void."""
    spec = canonical(sis.spec)
    draft = (spec.get("speculation") or {}).get("draft")
    model = spec["model"]
    parts: dict[Role, Any] = {Role.TARGET: [model["uri"], model.get("path")]}
    if draft and draft.get("uri"):
        parts[Role.DRAFT] = [draft["uri"], draft.get("path")]
    if sis.spec.memory.device is None:
        parts[Role.DEVICE] = [spec.get(part) for part in ("engine", "pod", "resources")]
    return {role: digest_of(part) for role, part in parts.items()}


async def learn_facts(
    teller: Teller, key: Key, parsed: Parsed, memory: ServiceMemory, observed: Observed, now: float
) -> ServiceMemory:
    """The memory with the facts from a pod that runs the requested spec."""
    sis, state, facts = parsed.newest, memory.state, memory.facts
    if not isinstance(sis, Sis) or sis.spec.guest or state is None or not _is_of(sis, state, memory):
        return memory
    if now < facts.due and facts.asked == state.revision:
        return memory
    of = about(sis)
    pods = observed.objects.pods
    pod = next((each for each in pods if each.ready and not each.deleting and each.revision == state.revision), None)
    if pod is None or not pod.ip or pod.on_host:
        return memory
    told = read_page(await teller.facts(key[0], pod.ip, port=sis.spec.engine.port or ENGINE_PORT) or b"")
    configs = {**facts.configs, **{role: (of[role], config) for role, config in told.configs.items() if role in of}}
    kept = taken_in(facts.kept, told, of)
    facts = FactMemory(kept=kept, configs=configs, asked=state.revision, used=told.used)
    again = _AGAIN if told.bytes and _lacking(sis, state, facts) else _LATER
    return replace(memory, facts=replace(facts, due=now + again))


def _is_of(sis: Sis, state: State, memory: ServiceMemory) -> bool:
    """Whether the serving pods are those of this spec: they did not load an artifact that changed after their start."""
    followed = memory.last_valid is not None and memory.last_valid[0] == sis.generation
    return followed and state.phase in _SETTLED and state.revision == state.wanted


def _lacking(sis: Sis, state: State, facts: FactMemory) -> bool:
    """Whether the serving pods could report a model that is not known."""
    drafts = state.phase is not Phase.MEASURING_BASELINE and state.rollback is None
    roles = [role for role in about(sis) if role is Role.TARGET or (role is Role.DRAFT and drafts)]
    return any(facts.configs.get(role, ("", {}))[0] != about(sis)[role] for role in roles)


def seen_of(sis: Sis, kept: Iterable[PodFact], configs: Mapping[Role, tuple[str, Json]]) -> ClusterFacts:
    """What may be planned with, and what is known beyond that."""
    of = about(sis)
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
