"""The rules and the dashboards, asked of a real Prometheus that scrapes the real operator through a rollback.

`SPECDEC_PICTURES=write` draws the dashboards into docs/dashboards/.
"""

import asyncio
import json
import os
import pathlib
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hack.monitoring.ask import Span, at, filled, over, targets
from hack.monitoring.files import DASHBOARDS
from hack.monitoring.grafana import written
from hack.monitoring.operator_alerts import ALERTS
from hack.monitoring.picture import draw
from hack.monitoring.rules import groups
from hack.prometheus import server

from tests.wire.api import Object
from tests.wire.operator import OperatorProcess
from tests.wire.pods import EngineStandIn
from tests.wire.world import NAME, World, sis

PICTURES = pathlib.Path(__file__).parents[2] / "docs" / "dashboards"
TOKENS = 400.0
MODEL = "m"
"""What the stand-in calls its model."""
WITHOUT_DATA: dict[str, str] = {}
"""Queries that may be empty after this story, and why."""


class Watched:
    """A Prometheus server that scrapes the operator and, once they are there, its pods."""

    def __init__(self, world: World, operator: OperatorProcess, folder: pathlib.Path) -> None:
        self._found = folder / "targets.json"
        self._found.write_text("[]")
        rules = folder / "rules.yaml"
        rules.write_text(json.dumps(groups()))
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

    @property
    def span(self) -> Span:
        """The whole story."""
        return Span(begin=self.begun, end=time.time(), step=1.0)

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
    """A server, and the story told."""
    made = Watched(world, operator, tmp_path)
    running = await asyncio.to_thread(server.start, tmp_path / "prometheus", made.config)
    made.url = running.url
    try:
        await _story(made)
        yield made
    finally:
        await asyncio.to_thread(server.stop, running)


async def _story(watched: Watched) -> None:
    """The plain service is measured; speculation is faster; its draft goes bad on one day; it is taken out."""
    world = watched.world
    await world.apply(sis(guard={"speedup": {"min": 1.0}, "baseline": "MeasureFirst"}))
    plain = EngineStandIn(tokens_per_second=TOKENS, speculative=False)
    watched.scrape(*await world.roll_out(await world.child(speculative=False), plain))
    child = await world.child(speculative=True, seconds=60)
    engines = [EngineStandIn(tokens_per_second=TOKENS, acceptance=0.6, token_time=0.012, falls=0.8) for _ in range(2)]
    watched.scrape(*await world.roll_out(child, *engines))
    await world.until("a passing window", lambda: _verdict(world, "Pass"), 60)
    await asyncio.sleep(8)
    for engine in engines:
        engine.acceptance, engine.token_time = 0.1, 0.025
    child = await world.child(speculative=False, seconds=60)
    watched.scrape(*await world.roll_out(child, EngineStandIn(tokens_per_second=TOKENS, speculative=False)))
    await world.phase("RolledBack")
    await world.until("the alert", lambda: _firing(watched), 30)
    await asyncio.sleep(4)


async def _verdict(world: World, wanted: str) -> Object | None:
    status = await world.status()
    return status if status.get("guard", {}).get("verdict") == wanted else None


async def _firing(watched: Watched) -> bool:
    expr = f'ALERTS{{alertname="SpecdecRolledBack",alertstate="firing",namespace="{watched.world.namespace}"}}'
    return bool(await asyncio.to_thread(at, watched.url, expr, time.time()))


async def test_dashboards_and_alerts_tell_the_story_of_a_rollback(watched: Watched, tmp_path: pathlib.Path) -> None:
    """Every query of every panel is one to Prometheus and gives data; one alert fires, with the service's labels."""
    empty = []
    for name, dashboard in DASHBOARDS.items():
        for title, expr in targets(written(dashboard)):
            found = await asyncio.to_thread(over, watched.url, filled(expr, watched.variables), watched.span)
            if not any(each.points for each in found) and f"{name}: {title}" not in WITHOUT_DATA:
                empty.append(f"{name}: {title}: {expr}")
    assert empty == []
    firing = await asyncio.to_thread(at, watched.url, 'ALERTS{alertstate="firing"}', time.time())
    (alert,) = [each.labels for each in firing]
    assert alert["alertname"] == "SpecdecRolledBack"
    assert (alert["namespace"], alert["name"]) == (watched.world.namespace, NAME)
    assert (alert["reason"], alert["to"]) == ("AcceptanceRateLow", "Baseline")
    await _draws(watched, tmp_path)


async def _draws(watched: Watched, tmp_path: pathlib.Path) -> None:
    """The test page draws what was asked; the picture is there."""
    folder = PICTURES if os.environ.get("SPECDEC_PICTURES") == "write" else tmp_path
    folder.mkdir(exist_ok=True)
    for name, dashboard in DASHBOARDS.items():
        picture = folder / f"{name.removesuffix('.json')}.png"
        await asyncio.to_thread(draw, written(dashboard), watched.url, watched.span, watched.variables, picture)
        assert picture.read_bytes().startswith(b"\x89PNG")


def test_no_exception_is_one_of_a_panel_that_is_gone() -> None:
    """The list of queries without data names panels that are there."""
    there = {f"{name}: {title}" for name, each in DASHBOARDS.items() for title, _ in targets(written(each))}
    assert set(WITHOUT_DATA) <= there
    assert len(ALERTS) == len({each.name for each in ALERTS})
