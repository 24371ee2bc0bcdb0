"""The programs that tests fetch, a browser and Prometheus: the machine's own, then the cached one, then an error."""

import pathlib
from collections.abc import Callable

import pytest
from hack.cluster.errors import ClusterError

from tests import chromium, prometheus

Ensure = Callable[[], pathlib.Path]
PROGRAMS = pytest.mark.parametrize(
    ("ensure", "name", "cached"),
    [
        (lambda: chromium.ensure().program, "chromium", "browser/usr/lib/chromium/chromium-headless-shell"),
        (prometheus.ensure, "prometheus", "prometheus/usr/bin/prometheus"),
        (prometheus.promtool, "promtool", "prometheus/usr/bin/promtool"),
    ],
    ids=["chromium", "prometheus", "promtool"],
)


@pytest.fixture(autouse=True)
def bare(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPECDEC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


def _file(path: pathlib.Path) -> pathlib.Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@PROGRAMS
def test_the_machines_own_comes_before_the_fetched_one(
    tmp_path: pathlib.Path, ensure: Ensure, name: str, cached: str
) -> None:
    """Neither is fetched again: without Debian's programs there is nothing to fetch it with."""
    with pytest.raises(ClusterError, match=r"on PATH.*install"):
        ensure()
    fetched = _file(tmp_path / "cache" / cached)
    assert ensure() == fetched
    own = _file(tmp_path / "bin" / name)
    assert ensure() == own


def test_a_fetched_browser_runs_with_the_libraries_that_came_along(tmp_path: pathlib.Path) -> None:
    """The machine's own runs with its own libraries."""
    root = tmp_path / "cache" / "browser"
    _file(root / "usr" / "lib" / "chromium" / "chromium-headless-shell")
    libraries = [
        _file(root / "usr" / "lib" / place / "libx.so.1").parent for place in ("x86_64-linux-gnu", "x86_64-linux-gnu/y")
    ]
    found = chromium.ensure().environment
    assert found["LD_LIBRARY_PATH"] == ":".join(map(str, libraries))
    assert found["FONTCONFIG_FILE"] == str(root / "fonts.conf")
    _file(tmp_path / "bin" / "chromium")
    assert chromium.ensure().environment == {}
