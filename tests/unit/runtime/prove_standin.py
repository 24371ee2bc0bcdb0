"""A stand-in of vLLM's server for the startup probe."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.hostile_http import Asked, in_a_thread, replying

RECORDED = Path(__file__).parents[2] / "data" / "vllm"
METRICS = (RECORDED / "metrics.txt").read_text()
DRAFTS = 'vllm:spec_decode_num_drafts_total{engine="0",model_name="m"}'
PLAIN = "".join(f"{line}\n" for line in METRICS.splitlines() if "spec_decode" not in line)


@dataclass
class StandIn:
    """A stand-in of vLLM: it plays recorded answers, and counts a draft for each generation if it is to draft."""

    speculates: bool = True
    drafts_per_generation: int = 9
    broken_when: str = ""
    status: dict[str, int] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)
    broken: tuple[int, str] = (500, "EngineCore encountered an issue")
    dead: bool = False
    key: str = ""
    seconds: float = 0.0
    asked: list[dict[str, object]] = field(default_factory=list)
    port: int = 0

    def metrics(self) -> str:
        drafts = 19.0 + self.drafts_per_generation * len(self.asked)
        return METRICS.replace(f"{DRAFTS} 19.0", f"{DRAFTS} {drafts}") if self.speculates else PLAIN

    def answer(self, path: str, body: dict[str, object] | None) -> tuple[int, str]:
        if path in self.answers:
            return self.status.get(path, 200), self.answers[path]
        if path == "/metrics":
            return 200, self.metrics()
        if path == "/v1/models":
            return 200, (RECORDED / "models.json").read_text()
        if path == "/v1/completions" and body is not None:
            self.asked.append(body)
            broken = bool(self.broken_when) and self.broken_when in body
            self.dead = self.dead or (broken and self.broken[0] == 200)
            return self.broken if broken and not self.dead else (200, (RECORDED / "completion.json").read_text())
        if path == "/health" and self.dead:
            return 503, ""
        return self.status.get(path, 200), ""


@contextmanager
def serving() -> Iterator[StandIn]:
    stand_in = StandIn()

    def reply(asked: Asked) -> tuple[int, str]:
        known = asked.headers.get("authorization") == f"Bearer {stand_in.key}" if stand_in.key else True
        body = asked.json() if asked.method == "POST" else None
        return stand_in.answer(asked.path, body) if known else (401, "Unauthorized")

    async def answer(asked: Asked, *connection: Any) -> None:
        await asyncio.sleep(stand_in.seconds)
        await replying(reply)(asked, *connection)

    with in_a_thread(answer) as stand_in.port:
        yield stand_in
