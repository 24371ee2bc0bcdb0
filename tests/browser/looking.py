"""Looks at a page and notes everything that went wrong in the browser meanwhile."""

import io
import pathlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from PIL import Image
from playwright.async_api import Browser, Page

DESK = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}

_OVERFLOW = """() => [...document.querySelectorAll('body *')]
  .filter(each => !each.closest('.scroll, .unseen, .skip, svg'))
  .filter(each => each.getBoundingClientRect().right > innerWidth + 0.5)
  .map(each => `${each.tagName}.${each.className}: ${each.textContent.slice(0, 40)}`)"""

_CONTRAST = (pathlib.Path(__file__).parent / "contrast.js").read_text()


class Look:
    """A page that is looked at. wrong: console errors and warnings, failed requests, answers from 400 on."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.wrong: list[str] = []
        page.on("console", lambda said: self._note(said.type in ("error", "warning"), f"console: {said.text}"))
        page.on("pageerror", lambda error: self._note(True, f"script: {error}"))
        page.on("requestfailed", lambda request: self._note(True, f"failed: {request.url}"))
        page.on("response", lambda answer: self._note(answer.status >= 400, f"{answer.status}: {answer.url}"))

    def _note(self, wrong: bool, what: str) -> None:
        if wrong:
            self.wrong.append(what)

    async def at(self, address: str) -> "Look":
        """Goes there, and waits until all is loaded."""
        await self.page.goto(address, wait_until="networkidle")
        return self

    async def too_wide(self) -> list[str]:
        """What reaches beyond the window, or makes it scroll sideways."""
        found: list[str] = await self.page.evaluate(_OVERFLOW)
        scrolls = await self.page.evaluate("document.documentElement.scrollWidth > innerWidth")
        return [*found, "the page scrolls sideways"] if scrolls else found

    async def too_faint(self) -> list[str]:
        """Texts whose contrast with what is behind them is below WCAG's AA: 4.5, or 3 for large ones."""
        found: list[str] = await self.page.evaluate(_CONTRAST)
        return found

    async def picture(self, path: pathlib.Path, *, whole: bool = True) -> None:
        """The page as a picture of 256 colours, a third as large as the browser's. whole: beyond the window, too."""
        path.parent.mkdir(parents=True, exist_ok=True)
        drawn = Image.open(io.BytesIO(await self.page.screenshot(full_page=whole)))
        drawn.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)


@asynccontextmanager
async def looking(browser: Browser, **context: Any) -> AsyncIterator[Look]:
    """A page of its own, with the options of a browser's context."""
    opened = await browser.new_context(**({"viewport": DESK} | context))
    try:
        yield Look(await opened.new_page())
    finally:
        await opened.close()
