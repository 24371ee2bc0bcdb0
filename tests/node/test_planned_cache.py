"""The models that pods report, and the KV cache planned from that, against the cache that the engine really has."""

import pathlib
from typing import Any

import pytest
from lab.engine import cases
from lab.heads import store

from tests.node import measured
from tests.node.service import ENGINE, Service
from tests.wire.api import POD

pytestmark = pytest.mark.node
PAIRS = [each for each in cases.METHODS if each.name in ("draft_model", "eagle", "eagle3", "dflash", "medusa")]
CLOSE = 5
"""Percent by which tokens may differ from the plan."""


@pytest.fixture(scope="session")
def model_folder() -> pathlib.Path:
    """The tiny models with the heads: four of the five pairs have one, and no other test may have trained them."""
    return store.ensure()


def parts(method: cases.MethodCase) -> dict[str, Any]:
    """A service of a pair, in a container whose limit is the device."""
    return {
        "model": {"uri": f"pvc://models/{method.target}"},
        "engine": ENGINE,
        "rollout": {"strategy": "Replace", "deadline": "5m"},
        "resources": {"limits": {"memory": "6Gi"}},
    }


async def _uids(service: Service) -> set[str]:
    pods = await service.api.items(POD, service.namespace)
    return {each["metadata"]["uid"] for each in pods if "deletionTimestamp" not in each["metadata"]}


async def _begun(service: Service, before: str | None) -> bool:
    return (await service.status()).get("guard", {}).get("speculation", before) != before


async def test_five_pairs_have_the_cache_that_was_planned(service: Service) -> None:
    """One pair after the other: the plan uses what the pair's pod reported, and replaces no pod."""
    assert len(PAIRS) == 5
    pairs = []
    for method in PAIRS:
        speculation = (await service.status()).get("guard", {}).get("speculation")
        await service.apply(method.spec()["spec"]["speculation"], parts(method), acceptanceRate={"min": 0.0})
        await service.until("the next pair", lambda: _begun(service, speculation), 60)  # noqa: B023 - awaited at once
        await service.phase("Watching")
        uids = await _uids(service)

        async def known() -> dict[str, Any] | None:
            status = await service.status()
            memory, facts = status.get("memory", {}), {each["role"] for each in status.get("facts", ())}
            whole = "deviceUsed" in memory and memory["deviceUsed"] <= memory["device"]
            return (
                memory
                if whole and {"Target", "Draft", "Device"} <= facts and "kvTokensDifferencePercent" in memory
                else None
            )

        memory = await service.until(f"planned and measured tokens of {method.name}", known, 120)
        names = {"planned": "kvTokensPredicted", "measured": "kvTokensMeasured", "price": "kvPrice"}
        pairs.append({"method": method.name} | {name: memory[field] for name, field in names.items()})
        print(pairs[-1], f"took {memory['deviceUsed']}")
        assert abs(memory["kvTokensDifferencePercent"]) <= CLOSE
        assert await _uids(service) == uids
        fits = [each["status"] for each in (await service.status())["conditions"] if each["type"] == "MemoryFits"]
        assert fits == ["True"]
    measured.keep("pairs", pairs=pairs)
