"""The rules and the dashboards, asked of a real Prometheus that scrapes the real operator through a rollback."""

import asyncio
import json
import pathlib
import time
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from tests import prometheus as server
from tests.monitoring_files import DASHBOARDS, RULES, filled, targets
from tests.unit.engine import memory_models as models
from tests.wire.api import Object
from tests.wire.operator import OperatorProcess
from tests.wire.pods import EngineStandIn, told
from tests.wire.world import NAME, World, sis

TOKENS = 400.0
MODEL = "m"
"""What the stand-in calls its model."""
OF_DIPS = ("specdec_gain_low", "specdec_gain_high", "specdec_dips")
"""Known after two minutes of dips, which this story does not last."""


class Watched:
    """A Prometheus server that scrapes the operator and, once they are there, its pods."""

    def __init__(self, world: World, operator: OperatorProcess, folder: pathlib.Path) -> None:
        self._found = folder / "targets.json"
        self._found.write_text("[]")
        rules = folder / "rules.yaml"
        rules.write_text(json.dumps(RULES))
        own = {"namespace": "specdec-system", "pod": "specdec-operator-0"}
        operators = [{"targets": [f"127.0.0.1:{operator.metrics_port}"], "labels": own}]
        engines = {"files": [str(self._found)], "refresh_interval": "1s"}
        self.config: dict[str, Any] = {
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(rules)],
            "scrape_configs": [
                {"job_name": "specdec-operator", "honor_labels": True, "static_configs": operators},
                {"job_name": "vllm", "file_sd_configs": [engines]},
            ],
        }
        self.world = world
        self.begun = time.time()
        self.url = ""

    def scrape(self, *pods: str) -> None:
        """From now on these pods."""
        labels = {"namespace": self.world.namespace}
        targets = [{"targets": [f"{self.world.address(pod)}:8080"], "labels": labels | {"pod": pod}} for pod in pods]
        self._found.write_text(json.dumps(targets))

    async def at(self, expr: str) -> list[Object]:
        """What a query gives now."""
        return await self._asked("query", query=expr, time=time.time())

    async def over(self, expr: str) -> list[Object]:
        """What a query gives over the whole story."""
        return await self._asked("query_range", query=expr, start=self.begun, end=time.time(), step=1.0)

    async def _asked(self, kind: str, **words: str | float) -> list[Object]:
        url, timeout = f"{self.url}/api/v1/{kind}", aiohttp.ClientTimeout(total=30)
        async with aiohttp.ClientSession(timeout=timeout) as session, session.post(url, data=words) as answer:
            assert answer.status == 200, f"Prometheus refuses {words['query']}: {await answer.text()}"
            found: list[Object] = (await answer.json())["data"]["result"]
            return found

    @property
    def variables(self) -> dict[str, str]:
        """What the variables of the dashboards are set to."""
        return {
            "namespace": self.world.namespace,
            "name": NAME,
            "model": MODEL,
            "__rate_interval": "5s",
            "__interval": "2s",
        }


@pytest.fixture
async def watched(world: World, operator: OperatorProcess, tmp_path: pathlib.Path) -> AsyncIterator[Watched]:
    """A server, after the whole story has run."""
    made = Watched(world, operator, tmp_path)
    running = await asyncio.to_thread(server.start, tmp_path / "prometheus", made.config)
    made.url = running.url
    try:
        await _story(made)
        yield made
    finally:
        await asyncio.to_thread(server.stop, running)


async def _story(watched: Watched) -> None:
    """The baseline is measured; speculation is faster, also compared with a baseline pod; its draft goes bad on one
    day; it is taken out.
    """
    world = watched.world
    beside = {"control": {"mode": "Always"}}
    await world.apply(
        sis(
            guard={"speedup": {"min": 1.0}, "baseline": "MeasureFirst"} | beside,
            engine={"accelerator": "nvidia"},
            replicas=2,
        )
    )
    facts = told(device=80 * 1024**3, target=(16 * 10**9, models.LLAMA_8B), draft=(8 * 10**8, models.EAGLE3_8B))
    known: Any = {"facts": facts, "kv_tokens": 400_000}
    baseline = [EngineStandIn(tokens_per_second=TOKENS, speculative=False, **known) for _ in range(2)]
    watched.scrape(*await world.roll_out(await world.child(speculative=False), *baseline))
    child = await world.child(speculative=True)
    engines = [
        EngineStandIn(tokens_per_second=TOKENS, acceptance=0.6, token_time=0.012, falls=0.8, **known) for _ in range(2)
    ]
    pods = await world.roll_out(child, *engines)
    watched.scrape(*pods)
    await world.bring_baseline_pods(EngineStandIn(tokens_per_second=TOKENS, speculative=False, **known))
    await world.until("what both arms show", lambda: _compared(watched))
    await world.verdict("Pass")
    await world.until("what it knows of its memory", lambda: _planned(watched))
    await world.until("enough to draw", lambda: _scraped(watched, 12, *pods))
    for engine in engines:
        engine.acceptance, engine.token_time = 0.1, 0.025
    child = await world.child(speculative=False)
    baseline = [EngineStandIn(tokens_per_second=TOKENS, speculative=False) for _ in range(2)]
    pods = await world.roll_out(child, *baseline)
    watched.scrape(*pods)
    await world.phase("RolledBack")
    await world.until("the alert", lambda: _firing(watched))
    await world.until("what it knows of its memory", lambda: _planned(watched))
    await world.until("enough to draw", lambda: _scraped(watched, 6, *pods))


async def _scraped(watched: Watched, times: int, *pods: str) -> bool:
    """Whether the server has so many samples of each pod."""
    expr = f'count_over_time(vllm:generation_tokens_total{{pod=~"{"|".join(pods)}"}}[2m]) >= {times}'
    return len(await watched.at(expr)) == len(pods)


async def _compared(watched: Watched) -> bool:
    """Whether the server has the evidence of both arms."""
    return bool(await watched.at(f'specdec_beside_score{{namespace="{watched.world.namespace}"}}'))


async def _planned(watched: Watched) -> bool:
    """Whether the server has the number of tokens that the operator planned from the pods' reports."""
    return bool(await watched.at(f'specdec_kv_tokens_planned{{namespace="{watched.world.namespace}"}}'))


async def _firing(watched: Watched) -> bool:
    expr = f'ALERTS{{alertname="SpecdecRolledBack",alertstate="firing",namespace="{watched.world.namespace}"}}'
    return bool(await watched.at(expr))


async def test_dashboards_and_alerts_show_a_rollback(watched: Watched) -> None:
    """Every query of every panel is one to Prometheus and gives data; one alert fires, with the service's labels."""
    empty = []
    for name, dashboard in DASHBOARDS.items():
        for title, expr in targets(dashboard):
            found = await watched.over(filled(expr, watched.variables))
            if not any(each in expr for each in OF_DIPS) and not any(each["values"] for each in found):
                empty.append(f"{name}: {title}: {expr}")
    assert empty == []
    (alert,) = [each["metric"] for each in await watched.at('ALERTS{alertstate="firing"}')]
    assert alert["alertname"] == "SpecdecRolledBack"
    assert (alert["namespace"], alert["name"]) == (watched.world.namespace, NAME)
    assert (alert["reason"], alert["to"]) == ("AcceptanceRateLow", "Baseline")
