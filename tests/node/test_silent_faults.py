"""Faults of a draft that nothing but its acceptance shows: no refusal, no crash, /health as ever."""

import asyncio
import contextlib
import pathlib
import shutil
import tempfile
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hack.cluster import paths, volumes
from hack.models import store

from tests.node.film import Film
from tests.node.service import Service, Traffic

WINDOW, FAILURE_LIMIT = 6.0, 2
LONG = {"max_tokens": 850, "ignore_eos": True}
"""A draft that is short in context is as good as any at the beginning of an answer."""
FAULTS: dict[str, dict[str, Any]] = {"draft-permuted": {}, "draft-short": LONG, "draft-mixed": {}}
"""The drafts, and what their clients ask for."""


@pytest.fixture
async def claim(service: Service, model_folder: pathlib.Path) -> AsyncIterator[pathlib.Path]:
    """The folder behind the PVC `models`, in place of the one that all tests share: this one may be repaired."""
    with tempfile.TemporaryDirectory(prefix="claim-", dir=paths.layout().run) as made:
        folder = pathlib.Path(made)
        shutil.copytree(model_folder, folder, dirs_exist_ok=True)
        store.open_to_pods(folder)
        await asyncio.to_thread(volumes.ensure_models, folder, service.namespace)
        yield folder
        await service.remove()


@pytest.mark.alone
async def test_silent_faults_are_taken_out_and_a_repaired_draft_comes_back(
    service: Service, cluster: pathlib.Path, claim: pathlib.Path
) -> None:
    """Each fault: green, speculating, out within failureLimit + 1 windows, patched within 2 s; baseline pods answer.

    Then the weights on the PVC are copied again, and a retry is all that it takes. One sis for each draft: they start
    together, which is quicker than one after the other.
    """
    async with contextlib.AsyncExitStack() as stack:
        faulty = [service.sibling(draft) for draft in FAULTS]
        films = [await stack.enter_async_context(Film(cluster, each.namespace, each.name)) for each in faulty]
        for each in faulty:
            await each.apply({"method": "draft_model", "tokens": 4, "draft": {"uri": f"pvc://models/{each.name}"}})
        decided = [await _caught(each, film) for each, film in zip(faulty, films, strict=True)]
        for each, film, at in zip(faulty, films, decided, strict=True):
            await film.phase("RolledBack", at, 240)
            answer = await each.ask(each.prompt("code", 0))
            assert answer["usage"]["completion_tokens"] > 0
        await _comes_back(faulty[-1], films[-1], claim)


async def _caught(service: Service, film: Film) -> float:
    """It is green, gets traffic that a good draft is good at, and its draft is taken out; returns when."""
    await film.phase("Watching", 0, 240)
    begun = time.monotonic()
    async with Traffic(service, "code", **FAULTS[service.name]):
        await asyncio.sleep(WINDOW)
        assert await film.health() == 200
        decided = await film.phase("Responding", begun, 60)
    patched = await film.baseline(begun, 10)
    rollback = (await service.status())["guard"]["rollback"]
    spent = f"decision {decided - begun:.1f} s, patch {patched - decided:.2f} s later"
    print(f"{service.name}: {spent}, {rollback['message']}")
    assert rollback["reason"] == "AcceptanceRateLow"
    assert decided - begun <= (FAILURE_LIMIT + 1) * WINDOW
    assert patched - decided <= 2
    return decided


async def _comes_back(service: Service, film: Film, claim: pathlib.Path) -> None:
    shutil.copytree(claim / "draft", claim / service.name, dirs_exist_ok=True)
    asked = time.monotonic()
    await service.retry()
    await film.phase("Watching", asked, 180)
    status = await service.verdict("Pass", "code")
    assert status["serving"]["speculating"]
    assert status["acceptance"]["rate"] > 0.5
    assert "rollback" not in status["guard"]
