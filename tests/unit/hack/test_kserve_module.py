"""hack.kserve: a module that cannot be fetched, is another, or does not build leaves a sentence and no file."""

import json
import os
import pathlib
from collections.abc import Callable

import pytest
from hack.cluster.errors import ClusterError
from hack.kserve import module
from hack.kserve.versions import SUMS, KServeChoice

VERSION = "0.20.0"
Go = Callable[[str], None]


@pytest.fixture
def go(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> Go:
    """Puts a `go` on PATH whose answer to `go mod download` and `go build` is a shell script; the cache is empty."""
    monkeypatch.setenv("SPECDEC_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    def put(script: str) -> None:
        program = folder / "go"
        program.write_text(f'#!/bin/sh\nif [ "$1" = env ]; then echo go1.26.0; exit 0; fi\n{script}\n')
        program.chmod(0o755)

    return put


def answer(source: pathlib.Path, total: str = SUMS[VERSION]) -> str:
    """What `go mod download -json` prints of a module that is there."""
    source.mkdir(exist_ok=True)
    return f"""if [ "$1" = mod ]; then echo '{json.dumps({"Dir": str(source), "Sum": total})}'; exit 0; fi"""


def left() -> list[str]:
    """Files of a version in the cache that another run would take for finished ones."""
    return sorted(each.name for each in module.folder(VERSION).glob("*") if each.name != ".lock")


def refused() -> str:
    with pytest.raises(ClusterError) as failure:
        module.built(KServeChoice(version=VERSION), lambda _: None)
    return str(failure.value)


def test_a_proxy_that_refuses_is_reported_with_its_message_and_the_way_out(go: Go) -> None:
    error = json.dumps({"Error": "reading the proxy: dial tcp: no such host"})
    go(f"echo '{error}'; exit 1")
    words = refused()
    assert f"KServe {VERSION} cannot be fetched" in words
    assert "dial tcp: no such host" in words
    assert "KSERVE_MANAGER and KSERVE_CONFIG run a controller that you built" in words
    assert left() == []


def test_another_hash_is_not_built(go: Go, tmp_path: pathlib.Path) -> None:
    go(answer(tmp_path / "source", "h1:another") + f"\ntouch {tmp_path}/built")
    words = refused()
    assert "has the hash h1:another" in words
    assert SUMS[VERSION] in words
    assert not (tmp_path / "built").exists()
    assert left() == []


def test_a_build_that_ends_in_the_middle_is_done_again(go: Go, tmp_path: pathlib.Path) -> None:
    """What was half written is not taken for a program."""
    out = 'while [ "$1" != -o ]; do shift; done\n'
    go(answer(tmp_path / "source") + f"\n{out}echo half > $2; exit 1")
    refused()
    assert "manager" not in left()
    go(answer(tmp_path / "source") + f"\n{out}echo whole > $2")
    with pytest.raises(ClusterError, match="config renders no object"):
        module.built(KServeChoice(version=VERSION), lambda _: None)
    assert (module.folder(VERSION) / "manager").read_text() == "whole\n"


def test_a_program_that_is_there_is_not_built_again(go: Go, tmp_path: pathlib.Path) -> None:
    """The test also shows that Go is not called."""
    folder = module.folder(VERSION)
    folder.mkdir(parents=True)
    (folder / "manager").write_text("x")
    (folder / "manifests.json").write_text('[{"kind": "ConfigMap", "metadata": {"name": "a"}}]')
    go(f"touch {tmp_path}/asked; exit 1")
    found = module.built(KServeChoice(version=VERSION), lambda _: None)
    assert [each["kind"] for each in found.objects()] == ["ConfigMap"]
    assert not (tmp_path / "asked").exists()
