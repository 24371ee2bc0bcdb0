"""What a state asks for: the plan, the manifest that it renders to, and how far its pods and artifacts are."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from specdec_operator.control.downloads import fetches
from specdec_operator.control.memory import Memory
from specdec_operator.control.sis import Sis
from specdec_operator.control.stores import Stores
from specdec_operator.control.wakeups import Key
from specdec_operator.downloads.held import held_arrival, held_rollout
from specdec_operator.downloads.waiting import Fetch, staged_at
from specdec_operator.guard.effects import want
from specdec_operator.guard.state import State
from specdec_operator.serving.arrival import Arrival, arrival
from specdec_operator.serving.hindrance import Hindrance
from specdec_operator.serving.plan import Plan, plan, refuse
from specdec_operator.serving.pods import DeploymentView, PodView
from specdec_operator.serving.render import Rendered, render
from specdec_operator.serving.rollout import RolloutView, view_rollout, waiting_rollout
from specdec_operator.staging.kserve import KServe

Turns: TypeAlias = Callable[[Rendered, State], State | str]
"""Tells of a manifest and the state that wants it with which state its rollout begins, or why it waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """One state and what it asks for. kserve: what it was planned for. deployment, pods: those of its revision.

    fetches: the downloads into the operator-made claim that have to be done before its pods are asked for.
    waits: why its rollout does not begin yet although they are; empty where it may.
    """

    state: State
    kserve: KServe
    plan: Plan
    rendered: Rendered
    rollout: RolloutView
    deployment: DeploymentView | None
    pods: tuple[PodView, ...]
    fetches: tuple[Fetch, ...]
    waits: str

    @property
    def staged(self) -> bool:
        """Whether its artifacts can be mounted."""
        return all(each.done for each in self.fetches)

    def arrival(self, events: Iterable[Mapping[str, Any]] = ()) -> Arrival:
        """Whether its artifacts are there. events: the cluster's, about its pods."""
        if not self.staged:
            return held_arrival(self.fetches)
        return arrival(self.plan.layout, self.deployment, self.pods, events)


def wish_of(
    key: Key,
    sis: Sis,
    state: State,
    stores: Stores,
    memory: Memory,
    kserve: KServe,
    now: float,
    turn: Turns,
) -> Wish:
    """What `state` asks for. Raises Invalid for what cannot run, unless it runs already.

    turn: the state with which its rollout begins, or why that waits for others.
    """
    planned = plan(sis.spec, state, name=sis.owner.name, synthetic=sis.synthetic, kserve=kserve)
    rendered = render(planned, sis.owner, state.replacing)
    ran_well = state.rollback is not None and state.rollback.good is not None
    if rendered.revision != state.revision and not ran_well:
        refuse(planned)  # what runs already, or ran well, has shown what it is, whatever a newer rule says
    state = want(state, rendered.revision, now)
    begun = turn(rendered, state)
    state, waits = (state, begun) if isinstance(begun, str) else (begun, "")
    found = fetches(key, sis.owner.name, planned.layout, stores, memory.downloads, now)
    deployment, pods = stores.deployment(key), stores.pods(key)
    return Wish(
        state=state,
        kserve=kserve,
        plan=planned,
        rendered=rendered,
        rollout=waiting_rollout(waits, pods)
        if waits
        else _rollout(key, sis, state, stores, found, memory.hindrance, now),
        deployment=deployment if deployment and deployment.revision == rendered.revision else None,
        pods=tuple(pod for pod in pods if pod.revision == rendered.revision and not pod.deleting),
        fetches=found,
        waits=waits,
    )


def _rollout(
    key: Key,
    sis: Sis,
    state: State,
    stores: Stores,
    found: tuple[Fetch, ...],
    hindrance: Hindrance | None,
    now: float,
) -> RolloutView:
    """How far the rollout of the revision is that `state` wants. Downloads have no deadline."""
    staged, child = staged_at(found), stores.child(key)
    if staged is None:
        return held_rollout(found, stores.pods(key))
    return view_rollout(
        state.wanted or "",
        stores.deployment(key),
        stores.pods(key),
        waited=now - max(state.wanted_since, staged),
        deadline=sis.spec.rollout.deadline,
        now=now,
        hindrance=hindrance or (child.hindrance if child else None),
    )
