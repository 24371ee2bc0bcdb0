"""A guard whose evidence comes from a Prometheus server: the pods themselves are not asked."""

import asyncio
import json
import pathlib

import pytest

from tests import prometheus as server
from tests.wire.api import Refused
from tests.wire.operator import OperatorProcess
from tests.wire.pods import EngineStandIn
from tests.wire.world import World, sis


@pytest.fixture
def environment() -> dict[str, str]:
    """Every Prometheus server may be asked."""
    return {"SPECDEC_PROMETHEUS_URLS": "*"}


async def test_a_draft_is_judged_by_what_prometheus_saw(
    world: World, operator: OperatorProcess, tmp_path: pathlib.Path
) -> None:
    """Before it has scraped the pods nothing is decided; then windows pass; a bad draft is taken out."""
    found = tmp_path / "targets.json"
    found.write_text("[]")
    discovery = {"files": [str(found)], "refresh_interval": "1s"}
    scraping = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
        "scrape_configs": [{"job_name": "vllm", "file_sd_configs": [discovery]}],
    }
    running = await asyncio.to_thread(server.start, tmp_path / "prometheus", scraping)
    try:
        await _story(world, running.url, found)
    finally:
        await asyncio.to_thread(server.stop, running)


async def _story(world: World, url: str, found: pathlib.Path) -> None:
    engine = EngineStandIn(tokens_per_second=400.0)
    await world.apply(sis(guard={"window": "4s", "source": {"prometheus": {"url": url}}}))
    (pod,) = await world.roll_out(await world.child(speculative=True), engine)
    await world.verdict("ScrapeFailed")
    labels = {"pod": pod, "namespace": world.namespace}
    found.write_text(json.dumps([{"targets": [f"{world.address(pod)}:8080"], "labels": labels}]))
    status = await world.verdict("Pass")
    assert status["acceptance"]["rate"] == pytest.approx(0.8, abs=0.01)
    engine.acceptance = 0.0
    status = await world.phase("Responding")
    assert status["guard"]["rollback"]["reason"] == "AcceptanceRateLow"
    assert engine.asked_by == {"Prometheus"}, "the pods were asked by somebody else"


@pytest.mark.parametrize("url", ["http://user:word@prometheus:9090", "file:///etc/passwd", "http://p:9090/?q=1"])
async def test_a_url_that_is_more_than_a_server_is_refused(world: World, url: str) -> None:
    """One fixed path is asked; no credentials, no query, no file."""
    with pytest.raises(Refused, match=r"source\.prometheus\.url"):
        await world.apply(sis(guard={"source": {"prometheus": {"url": url}}}))
