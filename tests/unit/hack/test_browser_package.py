"""The source of the tests' browser, without fetching anything."""

import pathlib

import pytest
from hack.cluster.errors import ClusterError

from tests import chromium as package


@pytest.fixture(autouse=True)
def bare(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with no programs and an empty cache."""
    monkeypatch.setenv("SPECDEC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


def _file(path: pathlib.Path) -> pathlib.Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_machines_own_comes_first_and_needs_nothing(tmp_path: pathlib.Path) -> None:
    """A user who installed one expects that one, with its own libraries."""
    _file(tmp_path / "cache" / "browser" / "usr" / "lib" / "chromium" / "chromium-headless-shell")
    own = _file(tmp_path / "bin" / "chromium")
    assert package.ensure() == package.Browser(program=own, environment={})


def test_what_was_fetched_once_runs_with_the_libraries_that_came_along(tmp_path: pathlib.Path) -> None:
    """Here nothing could be fetched again."""
    root = tmp_path / "cache" / "browser"
    cached = _file(root / "usr" / "lib" / "chromium" / "chromium-headless-shell")
    libraries = [
        _file(root / "usr" / "lib" / place / "libx.so.1").parent for place in ("x86_64-linux-gnu", "x86_64-linux-gnu/y")
    ]
    found = package.ensure()
    assert found.program == cached
    assert found.environment["LD_LIBRARY_PATH"] == ":".join(map(str, libraries))
    assert found.environment["FONTCONFIG_FILE"] == str(root / "fonts.conf")


def test_without_a_browser_the_error_names_the_way_out() -> None:
    """Without Debian's programs there is nothing to fetch it with."""
    with pytest.raises(ClusterError, match=r"none of chromium-headless-shell.*on PATH.*install Chromium"):
        package.ensure()
