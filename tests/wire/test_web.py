"""The web page of a real operator in a real browser, while it serves, judges and rolls back several services.

`SPECDEC_GOLDEN=write pytest tests/wire/test_web.py -k people_see` writes the pictures of docs/web/ again.
"""

import asyncio
import os
import pathlib
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass

import pytest
from playwright.async_api import Browser

from tests.browser.conftest import browser
from tests.browser.looking import PHONE, looking
from tests.ports import free_port
from tests.wire.api import Api
from tests.wire.install import operator_kubeconfig
from tests.wire.operator import OperatorProcess
from tests.wire.pods import EngineStandIn
from tests.wire.world import NAME, World, sis

__all__ = ["browser"]
TOKENS = 400.0
"""Tokens a second of a busy engine, enough for a verdict in a window of two seconds."""
PICTURES = pathlib.Path(__file__).parents[2] / "docs" / "web"
WRITING = os.environ.get("SPECDEC_GOLDEN") == "write"
TEAMS = ("batch", "chat", "code", "docs", "search")


@pytest.fixture
async def worlds(api: Api) -> AsyncIterator[dict[str, World]]:
    """A namespace for each team; under their plain names only where pictures are made."""
    async with AsyncExitStack() as stack:
        made = {}
        for team in TEAMS:
            namespace = team if WRITING else f"{team}-{uuid.uuid4().hex[:6]}"
            await api.create_namespace(namespace)
            made[team] = await stack.enter_async_context(World(api, namespace))
        yield made


@pytest.fixture
async def page(
    api: Api,
    kubeconfig: pathlib.Path,
    worlds: dict[str, World],
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[str]:
    """An operator for all teams, with its page on; the page's address."""
    port = free_port()
    monkeypatch.setenv("SPECDEC_WEB_PORT", str(port))
    own = await operator_kubeconfig(api, kubeconfig, tmp_path / "kubeconfig")
    namespaces = ",".join(world.namespace for world in worlds.values())
    async with OperatorProcess(own, namespaces, tmp_path):
        yield f"http://127.0.0.1:{port}"


@dataclass(kw_only=True)
class UnevenEngine(EngineStandIn):
    """Its time per token varies by a tenth around the middle: an interval of no width would be a picture of nothing."""

    middle: float

    def spend(self, seconds: float) -> None:
        """Lets time pass."""
        self.token_time = self.middle * (0.9 + 0.2 * (time.monotonic() * 1.7 % 1))
        super().spend(seconds)


def engine(token_time: float, *, speculative: bool = True) -> EngineStandIn:
    """A busy engine. token_time: seconds per output token."""
    return UnevenEngine(
        tokens_per_second=TOKENS, middle=token_time, speculative=speculative, acceptance=0.62, falls=0.7
    )


async def _measured_first(world: World) -> EngineStandIn:
    """A service whose plain speed is known, and whose draft is accepted."""
    await world.apply(sis(guard={"speedup": {"min": 1.0}, "baseline": "MeasureFirst"}))
    await world.roll_out(await world.child(speculative=False), engine(0.021, speculative=False))
    busy = engine(0.0135)
    await world.roll_out(await world.child(speculative=True), busy)
    await world.verdict("Pass")
    return busy


async def _rolled_back(world: World) -> None:
    """A service whose draft stops being accepted."""
    busy = await _measured_first(world)
    busy.acceptance = 0.03
    await world.roll_out(await world.child(speculative=False), engine(0.021, speculative=False))
    await world.phase("RolledBack")


async def _observed(world: World) -> None:
    """A service that the guard may only watch, and would take speculation out of."""
    await world.apply(sis(speculation={"method": "ngram", "tokens": 3}, guard={"mode": "Observe"}))
    await world.roll_out(await world.child(), EngineStandIn(tokens_per_second=TOKENS, acceptance=0.05, tokens=3))

    async def would() -> bool:
        return "would" in (await world.status()).get("guard", {})

    await world.until("what it would do", would)


async def _idle(world: World) -> None:
    """A service without traffic."""
    await world.apply(sis())
    await world.roll_out(await world.child(), EngineStandIn())
    await world.verdict("Inconclusive")


async def _starting(world: World) -> None:
    """A service whose pods are not up yet."""
    await world.apply(sis())
    await world.roll_out(await world.child(), EngineStandIn(), ready=False)
    await world.phase("RollingOut")


async def test_people_see_in_a_browser_what_the_operator_does(
    worlds: dict[str, World], page: str, browser: Browser
) -> None:
    """Five services at once, each in another state: the rolled back one first, with its numbers and its decisions."""
    await asyncio.gather(
        _rolled_back(worlds["search"]),
        _measured_first(worlds["chat"]),
        _observed(worlds["code"]),
        _idle(worlds["batch"]),
        _starting(worlds["docs"]),
    )
    search = worlds["search"].namespace
    async with looking(browser) as look:
        await look.at(page)
        phases = await look.page.locator("tbody tr td:nth-child(2)").all_inner_texts()
        assert (phases[0], sorted(phases)) == ("RolledBack", ["RolledBack", "RollingOut", *["Watching"] * 3])
        await look.page.get_by_role("link", name=f"{search}/{NAME}").click()
        said = await look.page.inner_text("main")
        for words in ("AcceptanceRateLow", "< 0.40", "no speculation", "specdec retry", " ± ", "MeasuringBaseline"):
            assert words in said
        turns = await look.page.locator(".turns .badge").all_inner_texts()
        assert turns[:2] == ["RolledBack", "Responding"]
        assert (await look.too_wide(), await look.too_faint(), look.wrong) == ([], [], [])
    if WRITING:
        await _pictures(browser, page)


async def _pictures(browser: Browser, page: str) -> None:
    async with looking(browser, viewport={"width": 1280, "height": 620}) as look:
        await (await look.at(page)).picture(PICTURES / "fleet.png")
        await (await look.at(f"{page}/services/search/{NAME}")).picture(PICTURES / "rolled-back.png")
    async with looking(browser, color_scheme="dark") as look:
        await (await look.at(f"{page}/services/chat/{NAME}")).picture(PICTURES / "service.png")
    async with looking(browser, viewport=PHONE, device_scale_factor=2) as look:
        await (await look.at(page)).picture(PICTURES / "phone.png", whole=False)
