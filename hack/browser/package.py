"""Where the browser comes from: the machine's own, or Debian's packages, unpacked into the cache beside each other.

Nothing is installed, so nobody has to be root. The libraries that the machine lacks are unpacked with it.
"""

import fcntl
import os
import pathlib
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from hack.cluster import paths, shell
from hack.cluster.errors import ClusterError

_OWN: Final = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
_WANTED: Final = ("chromium-headless-shell", "fonts-dejavu-core", "fonts-inter")
"""Debian's packages. Without a font a page is blank; with another one than before, a picture in docs/ is another."""
_PROGRAM: Final = pathlib.Path("usr/lib/chromium/chromium-headless-shell")
_FONTS: Final = "fonts.conf"
_WAY_OUT: Final = "install Chromium, so that `chromium` is on PATH"


@dataclass(frozen=True, slots=True, kw_only=True)
class Browser:
    """A program, and what its environment needs besides the caller's."""

    program: pathlib.Path
    environment: Mapping[str, str]


def ensure(say: Callable[[str], None] = print) -> Browser:
    """Return the browser, after fetching it where it is missing. Two callers fetch it once. Raises ClusterError."""
    for name in _OWN:
        if own := shutil.which(name):
            return Browser(program=pathlib.Path(own), environment={})
    target = paths.cache() / "browser"
    if not (target / _PROGRAM).exists():
        target.mkdir(parents=True, exist_ok=True)
        with (target.parent / "browser.lock").open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            if not (target / _PROGRAM).exists():
                _fetch(target, say)
    return Browser(program=target / _PROGRAM, environment=_environment(target))


def _environment(target: pathlib.Path) -> dict[str, str]:
    libraries = sorted({str(path.parent) for path in target.glob("usr/lib/**/*.so*")})
    return {"LD_LIBRARY_PATH": os.pathsep.join(libraries), "FONTCONFIG_FILE": str(target / _FONTS)}


def _fetch(target: pathlib.Path, say: Callable[[str], None]) -> None:
    if any(shutil.which(each) is None for each in ("apt-get", "dpkg-deb")):
        raise ClusterError(
            f"there is none of {', '.join(_OWN)} on PATH, and without apt-get and dpkg-deb Debian's cannot be "
            f"fetched: {_WAY_OUT}"
        )
    say(f"fetching Debian's package {_WANTED[0]} (about 100 MB)")
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        _download(folder)
        unpacked = pathlib.Path(folder) / "unpacked"
        for archive in sorted(pathlib.Path(folder).glob("*.deb")):
            shell.run(["dpkg-deb", "-x", str(archive), str(unpacked)], timeout=120)
        (unpacked / _FONTS).write_text(_fonts(target))
        shutil.rmtree(target)
        os.rename(unpacked, target)


def _download(folder: str) -> None:
    if not _downloaded(folder):
        # There are no lists yet, or they name a version that the mirror no longer has.
        shell.ask(["apt-get", "update", "-qq"], timeout=300)
        if not _downloaded(folder):
            raise ClusterError(f"apt-get cannot download {' and '.join(_WANTED)} here: {_WAY_OUT}")


def _downloaded(folder: str) -> bool:
    planned = shell.ask(["apt-get", "-s", "-y", "--no-install-recommends", "install", *_WANTED], timeout=120)
    if planned.code != 0:
        return False
    missing = [words[1] for line in planned.out.splitlines() if (words := line.split()) and words[0] == "Inst"]
    # As root apt would fetch as a user who may not write to the folder, and warn of it.
    download = ["env", f"--chdir={folder}", "apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", *missing]
    return bool(missing) and shell.ask(download, timeout=600).code == 0


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
