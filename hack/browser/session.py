"""A browser that runs for the length of a block."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Browser, async_playwright

from hack.browser import package


@asynccontextmanager
async def browsing() -> AsyncIterator[Browser]:
    """Start the browser, and end it with all that was opened in it. Raises ClusterError where none can be had."""
    found = package.ensure()
    async with async_playwright() as driver:
        environment: dict[str, str | float | bool] = {**os.environ, **found.environment}
        browser = await driver.chromium.launch(executable_path=found.program, env=environment)
        try:
            yield browser
        finally:
            await browser.close()
