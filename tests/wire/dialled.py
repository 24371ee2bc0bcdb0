"""A stand-in for the kubelet and the runtime of one pod: its engine drafts what the pod's annotation asks for."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from specdec_operator.names import DIAL_ANNOTATION
from tests.wire.api import POD
from tests.wire.pods import EngineStandIn
from tests.wire.world import World

K = 4
_PAUSE = 0.1


def answers(engine: EngineStandIn, tokens: int | None = None, rows: object = None) -> None:
    """The engine drafts so many tokens from now on, and reports that; None: all. rows: by load, reported too."""
    engine.drafting = tokens
    page: dict[str, object] = {"offered": True, "tokens": K if tokens is None else tokens, "started": K, "why": ""}
    engine.dial = json.dumps(page | ({"byBatchSize": rows} if rows else {})).encode()


@asynccontextmanager
async def following(world: World, engine: EngineStandIn) -> AsyncIterator[None]:
    """The engine follows the annotation of the pod that was there first for the length of a block."""
    answers(engine)
    task = asyncio.create_task(_follow(world, engine))
    try:
        yield
    finally:
        task.cancel()


async def _follow(world: World, engine: EngineStandIn) -> None:
    """A pod that replaces it has none: its engine is another one."""
    before: object = {}
    while True:
        pods = await world.api.items(POD, world.namespace)
        texts = [pod["metadata"].get("annotations", {}).get(DIAL_ANNOTATION) for pod in pods]
        asked = json.loads(next(filter(None, texts), "{}"))
        if (now := (asked.get("tokens"), asked.get("byBatchSize"))) != before:
            answers(engine, *now)
            before = now
        await asyncio.sleep(_PAUSE)
