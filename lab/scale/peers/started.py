"""What starting any peer needs: programs, patience, and how often its metrics' server was asked."""

import asyncio
import pathlib
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import aiohttp
from tests.wire.server import running

INTERVAL: Final = 15.0
"""Seconds between two reads of one service's metrics."""
_PATIENCE: Final = 900.0
_AT_ONCE: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A peer that watches all services. pid: its process; read: how often metrics were read so far."""

    pid: int
    read: Callable[[], Awaitable[int]]


@contextmanager
def started(argv: Sequence[str | pathlib.Path], log: pathlib.Path, **told: str) -> Iterator[int]:
    """A program for the length of the block; yields its process id. `told`: variables of its environment."""
    environment = [f"{name}={value}" for name, value in told.items()]
    with running(["env", *environment, *map(str, argv)], log) as process:
        yield process.pid


async def at_once(asked: Iterable[Awaitable[Any]]) -> None:
    """Does all of them, some at a time."""
    places = asyncio.Semaphore(_AT_ONCE)

    async def one(each: Awaitable[Any]) -> None:
        async with places:
            await each

    await asyncio.gather(*(one(each) for each in asked))


async def until(what: str, probe: Callable[[], Awaitable[bool]], log: pathlib.Path) -> None:
    """Waits for something of a program. Raises TimeoutError with the end of its log."""
    deadline = time.monotonic() + _PATIENCE
    while not await probe():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {_PATIENCE:.0f} s; the log ends: {log.read_text()[-2000:]}")
        await asyncio.sleep(1.0)


async def stand(port: int) -> dict[str, int]:
    """What a stand-in was asked so far; nothing where it does not serve yet."""
    try:
        async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}/stand") as answer:
            found: dict[str, int] = await answer.json()
            return found
    except aiohttp.ClientError:
        return {}
