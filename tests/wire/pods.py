"""Stand-ins for vLLM pods: real HTTP servers on loopback that serve vLLM's counters as the test sets them.

The text has the families and labels of a recorded page (tests/data/traces); the node tests use the real engine.
"""

import asyncio
import json
import random
import time
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from aiohttp import web

_PORT = 8080
_LABELS = 'engine="0",model_name="m"'
_REQUEST_TOKENS = 32


@dataclass(kw_only=True)
class EngineStandIn:
    """What the engine of one pod counts. Rates are per second of real time; change them to change the traffic.

    token_time: time per output token of a request, in seconds. asked, asked_by: how often, and by which programs.
    kv_tokens: that its KV cache holds; 0: its page does not show it. facts: what our runtime reports about the models;
    None: it is another image's, which has no such path. dial: the same of what it drafts. drafting: tokens that its
    dial is set to; None: all.
    """

    tokens_per_second: float = 0.0
    acceptance: float = 0.8
    tokens: int = 4
    token_time: float = 0.02
    running: int = 1
    falls: float = 1.0
    speculative: bool = True
    hangs: bool = False
    started: float = field(default_factory=time.time)
    generated: float = 0.0
    drafts: float = 0.0
    drafted: float = 0.0
    accepted: list[float] = field(default_factory=list)
    requests: float = 0.0
    token_seconds: float = 0.0
    kv_tokens: int = 0
    facts: bytes | None = None
    dial: bytes | None = None
    drafting: int | None = None
    asked: int = 0
    asked_by: set[str] = field(default_factory=set)

    def spend(self, seconds: float) -> None:
        """Lets time pass."""
        new = self.tokens_per_second * seconds
        tokens = self.tokens if self.drafting is None else self.drafting
        weights = [self.falls**position for position in range(self.tokens)]
        shares = [self.acceptance * self.tokens * weight / sum(weights) for weight in weights[:tokens]]
        drafts = new / (1 + sum(shares)) if tokens else 0.0
        self.generated += new
        self.drafts += drafts
        self.drafted += drafts * tokens
        self.accepted = [before + drafts * share for before, share in zip_longest(self.accepted, shares, fillvalue=0.0)]
        self.requests += new / _REQUEST_TOKENS
        self.token_seconds += new / _REQUEST_TOKENS * self.token_time

    def restart(self) -> None:
        """A new process in the same pod: counters begin again."""
        self.generated = self.drafts = self.drafted = self.requests = self.token_seconds = 0.0
        self.accepted = []
        self.started = time.time()

    def accepted_per_position(self) -> list[float]:
        """Accepted tokens at each position of the drafts."""
        return self.accepted + [0.0] * (self.tokens - len(self.accepted))

    def page(self) -> str:
        """The counters as vLLM writes them."""
        lines = [
            f"process_start_time_seconds {self.started}",
            f"vllm:num_requests_running{{{_LABELS}}} {self.running if self.tokens_per_second else 0}",
            f"vllm:generation_tokens_total{{{_LABELS}}} {self.generated}",
            f"vllm:request_time_per_output_token_seconds_count{{{_LABELS}}} {self.requests}",
            f"vllm:request_time_per_output_token_seconds_sum{{{_LABELS}}} {self.token_seconds}",
        ]
        if self.speculative:
            lines += [
                f"vllm:spec_decode_num_drafts_total{{{_LABELS}}} {self.drafts}",
                f"vllm:spec_decode_num_draft_tokens_total{{{_LABELS}}} {self.drafted}",
                f"vllm:spec_decode_num_accepted_tokens_total{{{_LABELS}}} {sum(self.accepted)}",
            ]
            lines += [
                f'vllm:spec_decode_num_accepted_tokens_per_pos_total{{{_LABELS},position="{position}"}} {accepted}'
                for position, accepted in enumerate(self.accepted_per_position())
            ]
        if self.kv_tokens:
            cache = (
                f'kv_cache_size_tokens="{self.kv_tokens}",kv_cache_max_concurrency="8.0",gpu_memory_utilization="0.9"'
            )
            lines += [
                f'vllm:cache_config_info{{engine="0",{cache}}} 1.0',
                f"vllm:kv_cache_usage_perc{{{_LABELS}}} 0.25",
            ]
        return "\n".join(lines) + "\n"


def told(*, device: int | None = None, used: int | None = None, **models: tuple[int, dict[str, Any]]) -> bytes:
    """What our runtime reports about models, each by its bytes and its config.json, and about the device."""
    page: dict[str, Any] = {
        "models": {role: {"bytes": size, "config": config} for role, (size, config) in models.items()}
    }
    known = {"device": device, "used": used}
    return json.dumps(page | {name: size for name, size in known.items() if size}).encode()


def any_address() -> str:
    """An address of its own in 127.0.0.0/8 for one pod."""
    return ".".join(("127", *(str(random.SystemRandom().randint(1, 250)) for _ in range(3))))


class PodServer:
    """One pod's HTTP server, at an address of its own in 127.0.0.0/8 and the engine's port."""

    def __init__(self, engine: EngineStandIn) -> None:
        self.engine = engine
        self.address = any_address()
        self._runner: web.AppRunner | None = None
        self._clock: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begins to serve."""
        app = web.Application()
        app.router.add_get("/metrics", self._metrics)
        app.router.add_get("/specdec/facts", self._facts)
        app.router.add_get("/specdec/dial", self._dial)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, self.address, _PORT).start()
        self._clock = asyncio.create_task(self._tick())

    async def stop(self) -> None:
        """Stops serving."""
        if self._clock is not None:
            self._clock.cancel()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _tick(self) -> None:
        last = time.monotonic()
        while True:
            await asyncio.sleep(0.05)
            now = time.monotonic()
            self.engine.spend(now - last)
            last = now

    async def _metrics(self, request: web.Request) -> web.Response:
        self.engine.asked += 1
        self.engine.asked_by.add(request.headers.get("User-Agent", "").partition("/")[0])
        if self.engine.hangs:
            await asyncio.sleep(3600)
        return web.Response(text=self.engine.page())

    async def _dial(self, _: web.Request) -> web.Response:
        if self.engine.hangs:
            await asyncio.sleep(3600)
        return web.Response(body=self.engine.dial) if self.engine.dial is not None else web.Response(status=404)

    async def _facts(self, _: web.Request) -> web.Response:
        return web.Response(body=self.engine.facts) if self.engine.facts is not None else web.Response(status=404)
