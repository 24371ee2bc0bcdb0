"""The stand-in of many engines: one real HTTP server at every address of 127/8, a page of counters for each pod.

Some fail, hang, or are far too long, as some always do. `POST /bad?from=I&to=J` lets these pods' drafts be useless from
now on; `GET /stand` returns how many were asked, and how many connections there were at once.
"""

import argparse
import asyncio
import time
from dataclasses import dataclass, field
from enum import StrEnum

from aiohttp import web
from tests.wire.pods import EngineStandIn

PORT = 8080
_HUGE = "# " + "x" * 3_000_000 + "\n"
GOOD, USELESS = 0.8, 0.02


class AnswerKind(StrEnum):
    """How a pod answers."""

    WELL = "well"
    FAILS = "fails"
    HANGS = "hangs"
    HUGE = "huge"


def kind_of(number: int) -> AnswerKind:
    """2 % fail, 1 % hang, 0.5 % send three megabytes."""
    match number % 200:
        case 50 | 100 | 150 | 199:
            return AnswerKind.FAILS
        case 25 | 125:
            return AnswerKind.HANGS
        case 75:
            return AnswerKind.HUGE
        case _:
            return AnswerKind.WELL


def address_of(number: int) -> str:
    """The pod's address; none of them is 127.0.x.y."""
    return f"127.{1 + (number >> 16)}.{(number >> 8) & 255}.{number & 255}"


def number_of(address: str) -> int:
    """The other way round."""
    _, high, middle, low = (int(part) for part in address.split("."))
    return ((high - 1) << 16) | (middle << 8) | low


@dataclass
class StandInEngines:
    """All pods; made as they are asked for."""

    engines: dict[int, EngineStandIn] = field(default_factory=dict)
    last: dict[int, float] = field(default_factory=dict)
    asked: int = 0
    open: int = 0
    most_open: int = 0

    def page(self, number: int) -> str:
        """The page of a pod, as of now."""
        now = time.monotonic()
        engine = self.engines.setdefault(number, EngineStandIn(tokens_per_second=200.0, acceptance=GOOD))
        engine.spend(now - self.last.get(number, now - 1.0))
        self.last[number] = now
        return engine.page()

    async def metrics(self, request: web.Request) -> web.Response:
        """What the operator asks for."""
        self.asked += 1
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        assert request.transport is not None, "the connection is there while it is answered"
        try:
            return await self._answer(number_of(request.transport.get_extra_info("sockname")[0]))
        finally:
            self.open -= 1

    async def _answer(self, number: int) -> web.Response:
        match kind_of(number):
            case AnswerKind.FAILS:
                return web.Response(status=500)
            case AnswerKind.HANGS:
                await asyncio.sleep(60)
                return web.Response(status=500)
            case AnswerKind.HUGE:
                return web.Response(text=_HUGE)
            case AnswerKind.WELL:
                return web.Response(text=self.page(number))

    async def bad(self, request: web.Request) -> web.Response:
        """Makes drafts useless."""
        first, last = (int(request.query[name]) for name in ("from", "to"))
        for number in range(first, last):
            self.page(number)
            self.engines[number].acceptance = USELESS
        return web.json_response({"bad": last - first})

    async def stand(self, _: web.Request) -> web.Response:
        """What was asked so far; the most connections since the last time."""
        said = {"asked": self.asked, "most_open": self.most_open}
        self.most_open = self.open
        return web.json_response(said)


def main() -> None:
    """Serves until it is stopped."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    engines = StandInEngines()
    app = web.Application()
    app.router.add_get("/metrics", engines.metrics)
    app.router.add_post("/bad", engines.bad)
    app.router.add_get("/stand", engines.stand)
    web.run_app(app, host="0.0.0.0", port=PORT, access_log=None, print=None, handle_signals=True, backlog=1024)


if __name__ == "__main__":
    main()
