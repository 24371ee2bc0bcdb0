"""A headless Chromium for the tests of pages and for the pictures in docs/: the machine's own, or Debian's packages,
unpacked into the cache with the libraries that the machine lacks.
"""

import os
import pathlib
import shutil
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import playwright.async_api
from hack.cluster import paths

from tests import debian

_OWN: Final = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
_PACKAGES: Final = ("chromium-headless-shell", "fonts-dejavu-core", "fonts-inter")
"""Debian's packages. Without a font a page is blank; with another one than before, a picture in docs/ is another."""
_PROGRAM: Final = pathlib.Path("usr/lib/chromium/chromium-headless-shell")
_FONTS: Final = "fonts.conf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Browser:
    """A program, and the environment variables that it needs in addition to the caller's."""

    program: pathlib.Path
    environment: Mapping[str, str]


def ensure(say: Callable[[str], None] = print) -> Browser:
    """Return the browser, after fetching it where it is missing. Two callers fetch it once. Raises ClusterError."""
    for name in _OWN:
        if own := shutil.which(name):
            return Browser(program=pathlib.Path(own), environment={})
    target = paths.cache() / "browser"
    wanted = debian.Wanted(
        packages=_PACKAGES,
        file=_PROGRAM,
        needs=True,
        absent=f"there is none of {', '.join(_OWN)} on PATH",
        way_out="install Chromium, so that `chromium` is on PATH",
        size="100 MB",
    )

    def with_fonts(tree: pathlib.Path) -> None:
        (tree / _FONTS).write_text(_fonts(target))

    program = debian.unpack(target, wanted, say=say, finish=with_fonts)
    return Browser(program=program, environment=_environment(target))


def _environment(target: pathlib.Path) -> dict[str, str]:
    libraries = sorted({str(path.parent) for path in target.glob("usr/lib/**/*.so*")})
    return {"LD_LIBRARY_PATH": os.pathsep.join(libraries), "FONTCONFIG_FILE": str(target / _FONTS)}


def _fonts(target: pathlib.Path) -> str:
    """fontconfig's configuration: the machine's where it has one, and the font that came along."""
    return (
        '<?xml version="1.0"?>\n<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">\n<fontconfig>\n'
        '  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>\n'
        f"  <dir>/usr/share/fonts</dir>\n  <dir>{target}/usr/share/fonts</dir>\n"
        f"{''.join(_prefer(name) for name in ('system-ui', 'sans-serif'))}"
        '  <cachedir prefix="xdg">fontconfig</cachedir>\n</fontconfig>\n'
    )


def _prefer(family: str) -> str:
    return (
        f'  <match><test name="family"><string>{family}</string></test>'
        '<edit name="family" mode="prepend" binding="strong"><string>Inter</string></edit></match>\n'
    )


@asynccontextmanager
async def browsing() -> AsyncIterator[playwright.async_api.Browser]:
    """A browser for the length of a block; it ends with all that was opened in it. Raises ClusterError without one."""
    found = ensure()
    async with playwright.async_api.async_playwright() as driver:
        environment: dict[str, str | float | bool] = {**os.environ, **found.environment}
        browser = await driver.chromium.launch(executable_path=found.program, env=environment)
        try:
            yield browser
        finally:
            await browser.close()
