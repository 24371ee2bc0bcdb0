"""Pods that have to go: the budget that other clients respect, and the operator's own restarts, which respect every
budget.
"""

import logging
from dataclasses import replace
from math import inf
from typing import Final

from specdec_operator.errors import OperatorError, Unavailable
from specdec_operator.guard.state import State
from specdec_operator.kube.cluster import Cluster
from specdec_operator.names import Key
from specdec_operator.observe.ownership import Claimant, Standing, look_at
from specdec_operator.reconcile.adoption import take_over
from specdec_operator.reconcile.memory import BudgetMemory, ServiceMemory
from specdec_operator.reconcile.observed import Observed
from specdec_operator.reconcile.own import write_own
from specdec_operator.reconcile.sis import Sis
from specdec_operator.render.disruption_budget import budget_name, is_as, render_budget
from specdec_operator.report.events import Event

_LOG = logging.getLogger(__name__)
_LOOK_AGAIN: Final = 3600.0
"""Seconds after which the operator checks whether another client changed the budget. It is not watched, because a
change rarely matters.
"""
_FIRST_LOOK: Final = 600.0
"""Seconds after an operator's start after which a budget that an earlier one left behind is looked for."""
_TRY_AGAIN: Final = 300.0
"""Seconds after which a budget that could not be made is tried again."""
_EVICT_AGAIN: Final = 30.0
"""Seconds after which a refused eviction is requested again."""


async def keep_budget(cluster: Cluster, sis: Sis, memory: ServiceMemory, now: float) -> ServiceMemory:
    """Creates, changes or removes the service's PodDisruptionBudget so that it matches the spec.

    It is read first if it is not known, and written only if it differs. Raises nothing: a service without a budget
    still serves, and an Event shows why the budget is missing.
    """
    wanted, budget = render_budget(sis.spec, sis.owner), memory.budget
    if wanted is None and budget == BudgetMemory():  # a start must not read the budgets of a thousand services
        return replace(memory, budget=BudgetMemory(due=now + _FIRST_LOOK))
    if wanted == budget.wanted and now < budget.due:
        return memory
    try:
        seconds, words = await _keep(cluster, sis, wanted)
    except OperatorError as error:
        seconds, words = _TRY_AGAIN, error.message
    unsent = memory.unsent
    if words and words != budget.told:
        _LOG.warning("service=%s/%s its PodDisruptionBudget: %s", sis.owner.namespace, sis.owner.name, words)
        unsent = (*unsent, Event(warning=True, reason="NoDisruptionBudget", message=words))
    kept = BudgetMemory(wanted=wanted, due=now + seconds, told=words)
    return replace(memory, budget=kept, unsent=unsent)


async def _keep(cluster: Cluster, sis: Sis, wanted: dict[str, object] | None) -> tuple[float, str]:
    """Seconds until it is to be looked at again, and what keeps it from being as it is wanted."""
    owner, claimant = sis.owner, Claimant(uid=sis.owner.uid)  # which takes no user's budget over
    meta = {"name": budget_name(owner), "namespace": owner.namespace}
    named = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta}
    look = look_at(await cluster.find(named), claimant)
    if look.live is not None and await take_over(
        cluster, {**look.live, **named, "metadata": look.live["metadata"]}, sis
    ):
        look = look_at(await cluster.find(named), claimant)
    if wanted is None:
        if look.standing is Standing.OURS:
            await cluster.remove({**named, "metadata": {**meta, "uid": look.uid}})
        return inf, ""
    if look.standing in (Standing.LOOSE, Standing.HELD):
        way_out = "delete it, or set rollout.disruptionBudget: None"
        return _LOOK_AGAIN, f"another PodDisruptionBudget {meta['name']} already exists: {way_out}"
    if look.live is None or not is_as(look.live, wanted):
        await write_own(cluster, wanted, claimant, look)
    return _LOOK_AGAIN, ""


async def restart_pods(
    cluster: Cluster, key: Key, observed: Observed, state: State, memory: ServiceMemory, now: float
) -> ServiceMemory:
    """Evicts pods that are to be restarted; their Deployment makes others in their place.

    An eviction that a budget forbids now is asked for again later. Raises Unavailable for other trouble.
    """
    waiting = [pod.name for pod in observed.objects.pods if pod.name in state.restarting and not pod.deleting]
    if not waiting:
        return replace(memory, evict_at=0.0)
    if now < memory.evict_at:
        return replace(memory, due=min(memory.due, memory.evict_at))
    refused = [name for name in waiting if not await _evicted(cluster, key, name, told=bool(memory.evict_at))]
    if not refused:
        return replace(memory, evict_at=0.0)
    again = now + _EVICT_AGAIN
    return replace(memory, evict_at=again, due=min(memory.due, again))


async def _evicted(cluster: Cluster, key: Key, pod: str, *, told: bool) -> bool:
    try:
        await cluster.evict(key[0], pod)
    except Unavailable as error:
        if error.reason != "NotEvicted":
            raise
        if not told:
            _LOG.warning("service=%s/%s pod=%s is restarted later: %s", *key, pod, error.message)
        return False
    return True
