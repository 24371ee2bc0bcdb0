"""Where the tests' Prometheus comes from, without fetching anything."""

import pathlib

import pytest
from hack.cluster.errors import ClusterError
from hack.prometheus import package


@pytest.fixture(autouse=True)
def bare(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with no programs and an empty cache."""
    monkeypatch.setenv("SPECDEC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


def _program(path: pathlib.Path) -> pathlib.Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_machines_own_comes_first(tmp_path: pathlib.Path) -> None:
    """Whoever installed one wants that one."""
    _program(tmp_path / "cache" / "prometheus" / "usr" / "bin" / "prometheus")
    own = _program(tmp_path / "bin" / "prometheus")
    assert package.ensure() == own


def test_what_was_fetched_once_is_not_fetched_again(tmp_path: pathlib.Path) -> None:
    """Here nothing could be."""
    cached = _program(tmp_path / "cache" / "prometheus" / "usr" / "bin" / "prometheus")
    assert package.ensure() == cached


def test_where_none_can_be_had_the_way_out_is_told() -> None:
    """Without Debian's programs there is nothing to fetch it with."""
    with pytest.raises(ClusterError, match=r"no program `prometheus` on PATH.*install one"):
        package.ensure()
