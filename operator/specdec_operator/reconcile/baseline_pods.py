"""Creates the Deployment of the baseline pods when the state requests it, and removes it when nothing requests it."""

from dataclasses import replace
from math import inf
from typing import Any, Final

from specdec_operator.errors import Invalid, OperatorError
from specdec_operator.guard.decisions import Rollback
from specdec_operator.guard.state import Phase
from specdec_operator.kube.cluster import Cluster
from specdec_operator.names import Key
from specdec_operator.observe.ownership import Claimant, Standing, look_at
from specdec_operator.observe.rollout import asleep
from specdec_operator.observe.store import OwnedObjects, baseline_name, predictor_name
from specdec_operator.reconcile.adoption import take_over
from specdec_operator.reconcile.decide import Decision
from specdec_operator.reconcile.memory import BaselinePodsMemory, ServiceMemory
from specdec_operator.reconcile.own import write_own
from specdec_operator.render.baseline_pods import render_baseline_pods
from specdec_operator.render.inference_service import render
from specdec_operator.render.plan import plan

_UNSEEN: Final = 10.0
"""Seconds that the watch may need to show a newly created Deployment."""
_TRY_AGAIN: Final = 30.0


async def keep_baseline_pods(
    cluster: Cluster, key: Key, decision: Decision, objects: OwnedObjects, memory: ServiceMemory, now: float
) -> ServiceMemory:
    """Creates or changes the baseline Deployment so that it matches the state. Raises nothing: the next reconcile
    reports an obstacle.

    The Deployment is removed only if the watch shows it, and created only for a state that is already in the status. So
    an operator that restarts finds both.
    """
    control, phase = decision.state.control, decision.state.phase
    if control is None:
        return await _removed(cluster, key, decision, objects, memory)
    if phase is Phase.RESPONDING:  # what they are made from is being replaced; they serve on
        return memory
    number = 0 if asleep(objects.deployment) else control.replicas  # an autoscaler's service that sleeps, sleeps
    wanted, pods = (number, decision.desired.rendered.revision), memory.baseline_pods
    there = objects.baseline_deployment is not None or now - pods.at < _UNSEEN
    if now < pods.due if pods.refusal else pods.wanted == wanted and there:
        return memory
    live = objects.deployment
    if live is None or live.revision != decision.desired.rendered.revision:
        return memory
    try:
        await _make(cluster, key, decision, number)
    except OperatorError as error:
        refused = BaselinePodsMemory(refusal=error.message, due=now + _TRY_AGAIN)
        return replace(memory, baseline_pods=refused, due=min(memory.due, now))
    return replace(memory, baseline_pods=BaselinePodsMemory(wanted=wanted, at=now, due=inf))


async def _make(cluster: Cluster, key: Key, decision: Decision, number: int) -> None:
    live = await cluster.find(_named(key, predictor_name(key[1])))
    if live is None or "spec" not in live:
        raise Invalid(
            "Deployment",
            predictor_name(key[1]),
            "it does not exist, or is too large to be read, and the operator creates the baseline pods from it",
        )
    speculating = decision.desired.rendered.manifest["spec"]["predictor"]
    manifest = render_baseline_pods(live, speculating, _baseline_predictor(decision), decision.sis.owner, number)
    left = await cluster.find(manifest)
    await take_over(cluster, None if left is None else {**manifest, "metadata": left["metadata"]}, decision.sis)
    await write_own(cluster, manifest, Claimant(uid=decision.sis.owner.uid))


def _baseline_predictor(decision: Decision) -> dict[str, Any]:
    """What would be asked of KServe, were the service plain."""
    sis, desired = decision.sis, decision.desired
    state = replace(decision.state, rollback=Rollback(reason="", message="", at=0.0))
    name, seen = sis.owner.name, desired.seen
    planned = plan(sis.spec, state, name=name, synthetic=sis.synthetic, kserve=desired.kserve, seen=seen)
    predictor: dict[str, Any] = render(planned, sis.owner).manifest["spec"]["predictor"]
    return predictor


async def _removed(
    cluster: Cluster, key: Key, decision: Decision, objects: OwnedObjects, memory: ServiceMemory
) -> ServiceMemory:
    if objects.baseline_deployment is None:
        return (
            memory
            if memory.baseline_pods == BaselinePodsMemory()
            else replace(memory, baseline_pods=BaselinePodsMemory())
        )
    named = _named(key, baseline_name(key[1]))
    try:
        look = look_at(await cluster.find(named), Claimant(uid=decision.sis.owner.uid))
        if look.standing is Standing.OURS:
            await cluster.remove({**named, "metadata": {**named["metadata"], "uid": look.uid}})
    except OperatorError:
        return memory  # seen again, and tried again, by the next reconcile
    return replace(memory, baseline_pods=BaselinePodsMemory())


def _named(key: Key, name: str) -> dict[str, Any]:
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": key[0], "name": name}}
