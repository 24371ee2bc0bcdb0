"""The dial on a real node: `specdec dial` reaches running engines through the kubelet, and comes back."""

import time

from specdec_operator.names import DIAL_ANNOTATION
from tests.node.film import Film
from tests.node.service import Crowd, Service
from tests.node.test_guard import foreseen_rates
from tests.node.test_hangs import pods
from tests.wire.api import SIS, Object

DRAFT = {"method": "draft_model", "tokens": 4, "draft": {"uri": "pvc://models/draft"}}
WITHIN = 30.0
"""Seconds within which both pods follow; the test prints the time that they took."""


async def test_running_engines_draft_nothing_and_draft_again(service: Service, film: Film) -> None:
    """No pod restarts, and no request fails. The counters of the engines stand still while the dial is at nothing."""
    await service.apply(DRAFT, {"replicas": 2, "rollout": {"strategy": "Surge", "deadline": "10m"}})
    await film.phase("Watching", 0, 300)
    before = {each["metadata"]["uid"] for each in await pods(service)}
    async with Crowd(service, "code", 2):
        await turned(service, "off", 0)
        at = await drafted(service, film)
        await service.until("a window without drafts", lambda: judged(service), 60)
        assert await drafted(service, film) == at
        await turned(service, "2", 2)
        await turned(service, None, None)
        await service.until("drafts again", lambda: more(service, film, at), 60)
    assert {each["metadata"]["uid"] for each in await pods(service)} == before
    status = await service.status()
    assert (status["phase"], status["guard"]["rollbacks"]) == ("Watching", 0)


async def test_a_slow_draft_is_left_out_by_load_or_taken_out_by_the_dips_of_its_engine(service: Service) -> None:
    """No baseline is known, no other pod runs, and acceptance has no minimum: eight tokens of a draft, most in vain.
    With Adapt the running pod drafts fewer or none at this load; without it speculation ends.
    """
    guard: Object = {"acceptanceRate": {"min": 0}, "control": {"mode": "Never"}}
    await service.apply(DRAFT | {"tokens": 8}, tokens="Adapt", **guard)
    await service.phase("Watching", seconds=240)
    before = {each["metadata"]["uid"] for each in await pods(service)}
    async with Crowd(service, "drift", 2):
        adapted = await service.until("fewer tokens by load", lambda: _adapted(service), 900)
        print(adapted["message"], adapted["tokensByBatchSize"])
        assert min(each["tokens"] for each in adapted["tokensByBatchSize"]) < 8
        await service.until("the rows followed", lambda: _in_force(service), WITHIN)
        await service.condition("RolledBack", "TokensAdapted")
        assert (await service.status())["guard"]["rollbacks"] == 0
        assert {each["metadata"]["uid"] for each in await pods(service)} == before
        await service.apply(DRAFT | {"tokens": 8}, **guard)
        await service.until("the dial reset", lambda: _reset(service), WITHIN)
        status = await service.phase("RolledBack", seconds=900)
    print(status["guard"]["rollback"]["message"], status["history"])
    assert status["guard"]["rollback"]["reason"] == "SlowerThanPlain"
    assert "gain in the engine" in status["guard"]["rollback"]["message"]
    assert "baseline" not in status["guard"]


async def _adapted(service: Service) -> Object | None:
    adapted: Object | None = (await service.status())["guard"].get("adapted")
    return adapted if adapted and adapted.get("tokensByBatchSize") else None


async def _in_force(service: Service) -> bool:
    dial = (await service.status()).get("dial", {})
    return bool(dial.get("tokensByBatchSize")) and dial["inForce"] == dial["pods"] == 1


async def turned(service: Service, text: str | None, tokens: int | None) -> None:
    """Sets the dial, waits until both pods answer that they follow, and prints how long it took."""
    begun = time.monotonic()
    body = {"metadata": {"annotations": {DIAL_ANNOTATION: text}}}
    await service.api.merge(SIS, service.namespace, service.name, body)

    async def follow() -> bool:
        dial = (await service.status()).get("dial", {})
        return (dial.get("tokens"), dial.get("inForce"), dial.get("pods")) == (tokens, 2, 2) or (not dial and not text)

    await service.until(f"the dial at {text}", follow, WITHIN)
    print(f"dial {text}: {time.monotonic() - begun:.2f} s")


async def judged(service: Service) -> bool:
    """Whether a whole window was seen with the dial set."""
    return bool((await service.status()).get("guard", {}).get("reason") == "Dialled")


async def drafted(service: Service, film: Film) -> float:
    """Draft tokens of both engines so far, by their own counters."""
    found = 0.0
    for each in await pods(service):
        name = each["metadata"]["name"]
        found += _drafted(
            await film.text(f"/api/v1/namespaces/{service.namespace}/pods/http:{name}:8080/proxy/metrics")
        )
    return found


async def more(service: Service, film: Film, than: float) -> bool:
    """Whether more was drafted since."""
    return await drafted(service, film) > than


def _drafted(page: str) -> float:
    lines = [each for each in page.splitlines() if each.startswith("vllm:spec_decode_num_draft_tokens_total")]
    return sum(float(each.rpartition(" ")[2]) for each in lines)


async def test_a_draft_that_fails_is_dialled_to_nothing_and_comes_back_with_its_traffic(
    service: Service, film: Film
) -> None:
    """By the guard, in the running pods: none restarts, and nothing is rolled out."""
    rollout = {"replicas": 2, "rollout": {"strategy": "Surge", "deadline": "10m"}}
    await service.apply(DRAFT, rollout, retry={"limit": 3}, dial={"settle": "20m"})
    await film.phase("Watching", 0, 300)
    before = {each["metadata"]["uid"] for each in await pods(service)}
    await service.verdict("Pass", "code")
    async with Crowd(service, "drift", 2):
        decided = await film.phase("Dialled", 0, 120)
        print(f"in force {await film.dialled(0, decided, WITHIN) - decided:.2f} s after the decision")
        await service.condition("SpeculationActive", "Dialled")
    recovered = time.monotonic()
    async with Crowd(service, "code", 2):
        # By probes of today's traffic alone: two busy cores draft few tokens.
        await film.phase("Watching", recovered, 600)
    await service.verdict("Pass", "code")
    assert {each["metadata"]["uid"] for each in await pods(service)} == before
    status = await service.status()
    assert (status["guard"]["rollbacks"], status["guard"]["retries"]) == (0, 1)


async def test_fewer_tokens_are_tried_in_the_running_pod(service: Service, film: Film) -> None:
    """A service of one pod: it does not restart, and drafts fewer tokens until a retry. The minimum lies in the middle
    between the rates of four tokens and of one, and windows are long: neither comes near it by chance.
    """
    answers = {"response": ["ReduceTokens", "RollBack"], "regretBudget": 0.01, "window": "60s"}
    await service.apply(DRAFT, acceptanceRate={"min": 0.01}, **answers)
    await film.phase("Watching", 0, 300)
    before = {each["metadata"]["uid"] for each in await pods(service)}
    async with Crowd(service, "code", 2, max_tokens=12):
        rates = await foreseen_rates(service)
        one, four = rates[0]["rate"], rates[3]["rate"]
        assert one > four
        await service.apply(DRAFT, acceptanceRate={"min": (one + four) / 2}, **answers)
        status = await service.until("fewer tokens", lambda: _reduced(service), 300)
        tokens = status["guard"]["reduced"]["tokens"]
        await film.dialled(tokens, 0, WITHIN)
        status = await service.until("a window with fewer tokens", lambda: _accepted(service), 240)
    print(f"{tokens} tokens: foreseen {rates[tokens - 1]['rate']}, measured {status['acceptance']['rate']}")
    assert (status["phase"], status["guard"]["rollbacks"]) == ("Watching", 0)
    await service.retry()
    await service.until("the dial reset", lambda: _reset(service), WITHIN)
    assert {each["metadata"]["uid"] for each in await pods(service)} == before


async def _reduced(service: Service) -> Object | None:
    status = await service.status()
    return status if status["guard"].get("reduced", {}).get("dialled") else None


async def _accepted(service: Service) -> Object | None:
    """The status after a window that was judged as one of fewer tokens."""
    status = await service.status()
    judged = status["guard"].get("reason") == "Accepted" and "reduced" in status["guard"]
    return status if judged else None


async def _reset(service: Service) -> bool:
    status = await service.status()
    return "dial" not in status and not {"reduced", "adapted"} & status["guard"].keys()
