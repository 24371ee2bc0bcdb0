"""`specdec check` against the real vLLM, out of the runtime image: what it prints is what this engine is and does."""

import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hack.models import store
from typer.testing import CliRunner

from specdec_command.cli.commands import application

pytestmark = pytest.mark.node
START_SECONDS = 900


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an engine that serves the tiny pair, with clients."""
    models, folder = store.ensure(), tmp_path_factory.mktemp("stand", numbered=True)
    shared = models / f".{folder.name}"
    shared.mkdir(exist_ok=True)
    words = ("lab.engine.stand", str(models), str(shared))
    engine = threading.Thread(target=store.run, args=("the server", models, *words))
    engine.start()
    until = time.monotonic() + START_SECONDS
    try:
        while not (shared / "port").exists():
            assert engine.is_alive(), "the server ended before it served"
            assert time.monotonic() < until
            time.sleep(0.5)
        yield f"http://127.0.0.1:{(shared / 'port').read_text()}"
    finally:
        (shared / "stop").touch()
        engine.join()
        for each in (*shared.iterdir(), shared):
            each.rmdir() if each.is_dir() else each.unlink()


def checked(*words: str) -> tuple[int, Any]:
    """Exit code and answer of the command."""
    done = CliRunner().invoke(application(), ["check", *words, "--output=json"])
    return done.exit_code, json.loads(done.stdout)


def test_a_server_that_speculates_is_seen_as_it_is(url: str) -> None:
    """Version, K, acceptance by vLLM's own counters, and a generated answer; there is nothing to fix."""
    code, found = checked(url, "--for=10s")
    assert (code, found["findings"]) == (0, [])
    assert (found["version"], found["speculating"], found["seen"]["speculation"]) == ("0.32.0", True, "on, K 4")
    assert [each["name"] for each in found["models"]] == ["m"]
    assert found["answer"]["tokens"] == 16
    window = found["window"]
    assert len(window["acceptedPerPosition"]) == 4
    assert window["acceptanceRate"] == pytest.approx(window["acceptedTokens"] / window["draftTokens"])
    assert window["acceptanceRate"] > 0.5


def test_the_page_for_people_has_the_same_numbers(url: str) -> None:
    """One line each, and the verdict last."""
    done = CliRunner().invoke(application(), ["check", url, "--for=5s"])
    assert done.exit_code == 0
    assert "speculation   on, K 4" in done.stdout
    assert done.stdout.rstrip().endswith("nothing to fix, 0 to check")
