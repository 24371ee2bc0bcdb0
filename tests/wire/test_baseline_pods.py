"""Baseline pods against a real API server: made, read, kept over a restart, removed; no foreign object is replaced."""

import signal
from typing import Any

from tests.webhook import refusing
from tests.wire.api import DEPLOYMENT
from tests.wire.faults.table import Part, fault
from tests.wire.operator import OperatorProcess
from tests.wire.pods import EngineStandIn
from tests.wire.world import BASELINE, World, sis

TOKENS = 400.0
ALWAYS: dict[str, Any] = {"control": {"mode": "Always"}, "speedup": {"min": 1.0}, "baseline": "None"}
DOUBT: dict[str, Any] = {"speedup": {"min": 1.0}, "baseline": "None"}


async def serve_both(world: World, ours: float, baseline: float, **spec: Any) -> None:
    """A watched service with a baseline pod. ours, plain: seconds per output token."""
    await world.apply(sis(**({"guard": ALWAYS} | spec)))
    await world.roll_out(await world.child(), EngineStandIn(tokens_per_second=TOKENS, token_time=ours))
    await world.phase("Watching")
    await world.bring_baseline_pods(EngineStandIn(tokens_per_second=TOKENS, token_time=baseline, speculative=False))


async def test_a_draft_that_is_slower_than_baseline_pods_is_taken_out(world: World, operator: OperatorProcess) -> None:
    """Their Deployment has KServe's label and no speculation; it serves until the rollback is over, and is removed."""
    await serve_both(world, 0.03, 0.02)
    found = await world.baseline_pods()
    args = found["spec"]["template"]["spec"]["containers"][0]["args"]
    assert args[0] == "--port=8080"
    assert not any(each.startswith("--speculative-config") for each in args)
    assert found["spec"]["template"]["metadata"]["labels"]["app"] == "isvc.llama-predictor"
    status = await world.phase("Responding")
    assert status["guard"]["rollback"]["reason"] == "SlowerThanPlain"
    assert "compared with baseline pods over" in status["guard"]["rollback"]["message"]
    child = await world.child(speculative=False)
    assert await world.api.get(DEPLOYMENT, world.namespace, BASELINE), "it serves on until the others do"
    await world.roll_out(child, EngineStandIn(tokens_per_second=TOKENS, speculative=False))
    await world.phase("RolledBack")
    await world.gone(DEPLOYMENT, BASELINE)


async def test_a_doubt_starts_a_baseline_pod_that_confirms_the_draft(world: World, operator: OperatorProcess) -> None:
    """Two replicas, and no baseline was ever measured: one baseline pod settles it in five windows."""
    await world.apply(sis(guard=DOUBT, replicas=2))
    engines = [EngineStandIn(tokens_per_second=TOKENS, token_time=0.01) for _ in range(2)]
    await world.roll_out(await world.child(), *engines)
    await world.condition("ComparingWithPlain", "True")
    await world.bring_baseline_pods(EngineStandIn(tokens_per_second=TOKENS, token_time=0.02, speculative=False))
    await world.event("DraftAcquitted")
    await world.gone(DEPLOYMENT, BASELINE)
    status = await world.status()
    assert status["phase"] == "Watching"
    assert status["guard"]["doubts"] == 1
    assert [each["load"] for each in status["guard"]["baseline"]] == [1]


@fault(
    part=Part.CLUSTER,
    when="another user's Deployment has the baseline's name",
    then="not written; its owner is named; speculation continues",
)
async def test_a_deployment_of_a_stranger_is_not_touched(world: World, operator: OperatorProcess) -> None:
    """By owner and not by name."""
    pod = {"metadata": {"labels": {"app": "y"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": BASELINE},
        "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "y"}}, "template": pod},
    }
    made = await world.api.apply(DEPLOYMENT, world.namespace, body, "somebody")
    await world.apply(sis(guard=ALWAYS))
    await world.roll_out(await world.child(), EngineStandIn(tokens_per_second=TOKENS))
    await world.phase("Watching")
    await world.told("ComparingWithPlain", BASELINE, "0 of 1 baseline pods")
    live = await world.api.get(DEPLOYMENT, world.namespace, BASELINE)
    assert live is not None
    assert live["metadata"]["uid"] == made["metadata"]["uid"]
    assert live["spec"] == made["spec"]


@fault(
    part=Part.CLUSTER,
    when="a webhook refuses the baseline Deployment",
    then="its message; a retry; speculation continues",
)
async def test_refused_baseline_pods_are_reported(world: World, operator: OperatorProcess) -> None:
    """The refusal of something that is only there to measure stops nothing."""
    await world.apply(sis(guard=DOUBT, replicas=2))
    engines = [EngineStandIn(tokens_per_second=TOKENS, token_time=0.01) for _ in range(2)]
    await world.roll_out(await world.child(), *engines)
    async with refusing(world.api, world.namespace, "apps", "deployments") as words:
        await world.told("ComparingWithPlain", words)
        assert (await world.status())["phase"] == "Watching"
    await world.baseline_pods()


async def test_an_operator_that_restarts_finds_its_baseline_pods(world: World, operator: OperatorProcess) -> None:
    """It is the same Deployment, the evidence goes on, and the operator removes it once no spec requests it."""
    await serve_both(world, 0.02, 0.02)
    before = await world.baseline_pods()

    async def compared() -> bool:
        return len((await world.status())["guard"].get("pairs", ())) >= 1

    await world.until("a window of both arms", compared)
    await operator.stop(signal.SIGKILL)
    await operator.start()
    pairs = len((await world.status())["guard"]["pairs"])

    async def more() -> bool:
        return len((await world.status())["guard"].get("pairs", ())) > pairs

    await world.until("more windows of both arms", more)
    assert (await world.baseline_pods())["metadata"]["uid"] == before["metadata"]["uid"]
    await world.apply(sis(guard=ALWAYS | {"control": {"mode": "Never"}}))
    await world.gone(DEPLOYMENT, BASELINE)
