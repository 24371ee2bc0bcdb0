"""The main job on real parts: a real node, a real vLLM with a real draft, real counters."""

import datetime as dt
import json

import pytest

from tests.node.service import NAME, Service, Traffic
from tests.wire.api import ISVC, POD

INTERVAL = 1
ROUNDING = 2
"""The kubelet reports whole seconds, and reports an end to the API server within a second."""
DRAFT = {"method": "draft_model", "tokens": 4, "draft": {"uri": "pvc://models/draft"}}


async def test_serve_watch_roll_back(service: Service) -> None:
    """Accepted on code; taken out on the language that the draft never learnt; nothing is left when it is deleted."""
    await serve_watch_roll_back(service)


async def serve_watch_roll_back(service: Service) -> None:
    """The story, for whichever KServe the cluster has."""
    await service.apply(DRAFT)
    await service.phase("Watching")
    status = await service.verdict("Pass", "code")
    assert status["acceptance"]["rate"] > 0.5
    async with Traffic(service, "drift"):
        status = await service.phase("Responding", "RolledBack", seconds=60)
    assert status["guard"]["rollback"]["reason"] == "AcceptanceRateLow"
    await service.phase("RolledBack")
    child = await service.api.get(ISVC, service.namespace, NAME)
    assert child is not None
    assert not any(arg.startswith("--speculative-config") for arg in child["spec"]["predictor"]["model"]["args"])
    answer = await service.ask(service.prompt("drift", 0))
    assert answer["usage"]["completion_tokens"] > 0
    await service.remove()


async def test_a_draft_that_cannot_work_is_taken_out_in_the_preflights_words(service: Service) -> None:
    """Another vocabulary, then no folder at all: refused in seconds, with words, and the service runs plain."""
    await service.apply(DRAFT | {"draft": {"uri": "pvc://models/draft-other-vocab"}})
    status = await service.phase("Responding", "RolledBack", seconds=60)
    rollback = status["guard"]["rollback"]
    assert rollback["reason"] == "RolloutFailed"
    assert "PreflightRefused" in rollback["message"]
    assert "vocab" in rollback["message"].lower()
    await service.apply(DRAFT | {"draft": {"uri": "pvc://models/no-such-draft"}})

    async def about_the_folder() -> bool:
        said = (await service.status())["guard"].get("rollback", {}).get("message", "")
        return "PreflightRefused" in said and "vocab" not in said.lower()

    await service.until("a refusal about the folder", about_the_folder, 60)
    await service.phase("RolledBack")
    (pod,) = [
        each for each in await service.api.items(POD, service.namespace) if "deletionTimestamp" not in each["metadata"]
    ]
    assert any(each["type"] == "Ready" and each["status"] == "True" for each in pod["status"]["conditions"])


@pytest.mark.alone
async def test_a_broken_draft_is_refused_within_seconds_and_the_sis_shows_it_at_once(service: Service) -> None:
    """200,000 flipped bytes: the container ends within five seconds, and the sentence is there an interval later."""
    await service.apply(DRAFT | {"draft": {"uri": "pvc://models/draft-corrupt"}})
    ended: dict[str, str] = {}

    async def refused() -> bool:
        for pod in await service.api.items(POD, service.namespace):
            for container in pod.get("status", {}).get("containerStatuses", []):
                found = container["state"].get("terminated") or container["lastState"].get("terminated")
                if found and found["exitCode"] == 78:
                    ended.update(found)
        return bool(ended)

    await service.until("a refused container", refused, 60)
    status = await service.phase("Responding", "RolledBack", seconds=10)
    said = dt.datetime.now(dt.UTC)
    rollback = status["guard"]["rollback"]
    started, finished = (dt.datetime.fromisoformat(ended[each]) for each in ("startedAt", "finishedAt"))
    print(f"refused {(finished - started).total_seconds():.0f} s after the start, said {said - finished} later")
    assert finished - started <= dt.timedelta(seconds=5)
    assert said - finished <= dt.timedelta(seconds=INTERVAL + ROUNDING)
    assert "DraftWeightsUnsound" in ended["message"]
    assert json.loads(ended["message"])["message"] in rollback["message"]


async def test_ngram_needs_no_draft_and_drafts_on_repetition(service: Service) -> None:
    """Look-up in the text: code repeats itself, so tokens are drafted and accepted."""
    await service.apply({"method": "ngram", "tokens": 4, "ngram": {"lookupMin": 2, "lookupMax": 5}}, minDraftTokens=20)
    await service.phase("Watching")
    status = await service.verdict("Pass", "code")
    assert status["acceptance"]["rate"] > 0.2
    assert status["serving"]["method"] == "ngram"
