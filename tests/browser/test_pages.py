"""What people see: every page on a desk and on a phone, light and dark, with and without a script, by keyboard."""

from typing import Any, Literal

import pytest
from playwright.async_api import Browser

from specdec_operator.web.store import ServiceStore
from tests.browser.looking import DESK, PHONE, looking
from tests.unit.web.samples import sample

CASES = ("hostile", "watching", "rolled-back", "garbage", "stalled", "fresh", "reduced", "observing")


def addresses(seen: ServiceStore) -> list[str]:
    """The fleet, some services, and what is not there."""
    services = [f"/services/{row.namespace}/{row.name}" for row in seen.rows() if row.name in CASES]
    assert len(services) == len(CASES)
    return ["/", "/?phase=Watching&sort=since&order=down", *services]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
async def test_every_page_is_readable(
    browser: Browser, base: str, seen: ServiceStore, size: Any, scheme: Literal["light", "dark"]
) -> None:
    """Nothing fails, nothing is beyond the edge, and every text stands out from what is behind it."""
    async with looking(browser, viewport=size, color_scheme=scheme) as look:
        for address in addresses(seen):
            await look.at(base + address)
            assert await look.too_wide() == [], address
            assert await look.too_faint() == [], address
        assert look.wrong == []


async def test_what_a_tenant_writes_runs_nowhere(browser: Browser, base: str) -> None:
    """No dialogue opens, and no element of theirs is in the page."""
    async with looking(browser) as look:
        look.page.on("dialog", lambda dialog: look.wrong.append(dialog.message))
        for address in ("/", "/services/team-b/hostile"):
            await look.at(base + address)
            assert await look.page.locator("img").count() == 0
            assert await look.page.locator("script").count() == 1
        assert "alert(1)" in await look.page.inner_text(".lead")
        assert look.wrong == []


async def test_every_link_and_field_is_reached_by_the_keyboard(browser: Browser, base: str) -> None:
    """In the order in which they are read, with a mark that can be seen; the first leads to the content."""
    async with looking(browser) as look:
        await look.at(base)
        wanted = await look.page.evaluate("[...document.querySelectorAll('a, select, button')].length")
        visited = []
        for _ in range(wanted):
            await look.page.keyboard.press("Tab")
            visited.append(
                await look.page.evaluate(
                    "[document.activeElement.textContent, getComputedStyle(document.activeElement).outlineStyle]"
                )
            )
        assert visited[0][0] == "Skip to the content"
        assert visited[-1][0] == "JSON"
        assert {outline for _, outline in visited} == {"solid"}


async def test_a_service_is_found_from_the_fleet_and_back(browser: Browser, base: str) -> None:
    """Filter, follow, return; as a person does, and without any script."""
    async with looking(browser, java_script_enabled=False) as look:
        await look.at(base)
        await look.page.get_by_role("combobox", name="Phase").select_option("RolledBack")
        await look.page.get_by_role("button", name="Filter").click()
        assert await look.page.get_by_role("row").count() == 1 + 2
        await look.page.get_by_role("link", name="rolled-back").click()
        assert await look.page.get_by_role("heading", level=1).inner_text() == "team-a/rolled-back"
        await look.page.get_by_role("link", name="All services").click()
        await look.page.get_by_role("columnheader", name="Acceptance").get_by_role("link").click()
        assert await look.page.get_by_role("columnheader", name="Acceptance").get_attribute("aria-sort") == "ascending"
        assert look.wrong == []


async def test_the_page_follows_what_happens_without_losing_its_place(
    browser: Browser, base: str, seen: ServiceStore
) -> None:
    """Ten seconds later the phase is another one, and the focus is where it was; while one reads a text, it waits."""
    async with looking(browser) as look:
        await look.page.clock.install()
        await look.at(f"{base}/services/team-b/watching")
        await look.page.get_by_role("link", name="All services").focus()
        body = sample("rolled-back", name="watching", namespace="team-b")
        seen.note(body, deleted=False)
        await look.page.evaluate("getSelection().selectAllChildren(document.querySelector('h1'))")
        await look.page.clock.run_for(11_000)
        assert await look.page.inner_text(".state .badge") == "Watching"
        await look.page.evaluate("getSelection().removeAllRanges()")
        await look.page.clock.run_for(11_000)
        await look.page.locator(".state .badge", has_text="RolledBack").wait_for(timeout=5000)
        assert await look.page.evaluate("document.activeElement.textContent") == "All services"
        assert look.wrong == []


async def test_pictures_and_tables_have_accessible_names(browser: Browser, base: str) -> None:
    """To those who do not see them: each picture has words, each table a caption and heads, each part a heading."""
    async with looking(browser) as look:
        await look.at(f"{base}/services/team-b/watching")
        assert await look.page.locator("svg:not([aria-label], [aria-hidden])").count() == 0
        assert await look.page.get_by_role("img", name="Acceptance by position").count() == 1
        tables = look.page.get_by_role("table")
        for number in range(await tables.count()):
            assert await tables.nth(number).locator("caption").count() == 1
            assert await tables.nth(number).get_by_role("columnheader").count() >= 4
        heads = await look.page.get_by_role("heading", level=2).all_inner_texts()
        assert heads[:3] == ["What to do next", "Requested and served", "Verdict"]


async def test_a_printed_page_leaves_out_what_cannot_be_used_on_paper(browser: Browser, base: str) -> None:
    """Filters and links between pages."""
    async with looking(browser) as look:
        await look.at(base)
        await look.page.emulate_media(media="print")
        assert not await look.page.locator("form").is_visible()
        assert await look.page.locator("table").is_visible()
