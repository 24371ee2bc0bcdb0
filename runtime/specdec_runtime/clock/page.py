"""Shows the clock's sums in the server's /metrics: the engine's process leaves a file, and the server reads it."""

from __future__ import annotations

import json
import logging
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from specdec_runtime.clock.sums import StepKind, StepSums, read, rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_LOG = logging.getLogger("vllm.specdec")
_LABELS: Final = ("tokens", "batch", "prompt")
_HELP: Final = "by tokens drafted a request, requests (rounded up to a power of two), and whether a prompt was taken in"
_FAMILIES: Final = (
    ("steps", "steps", "Steps of the engine"),
    ("seconds", "step_seconds", "Seconds of these steps"),
    ("tokens", "tokens", "Tokens that these steps brought to clients"),
    ("drafted", "draft_tokens", "Draft tokens that these steps verified"),
)
_PREFIX: Final = "specdec_engine_"


def note() -> Path:
    """Return where the engine's process leaves the sums."""
    return Path(tempfile.gettempdir()) / "specdec-steps.json"


def leave(sums: Mapping[StepKind, StepSums]) -> None:
    """Write the sums. Raises OSError."""
    path = note()
    new = path.with_suffix(f".{os.getpid()}")
    new.write_text(json.dumps(rows(sums)), encoding="utf-8")
    new.replace(path)


def forget() -> None:
    """Remove the sums of a start before this one: the folder may outlive a container."""
    try:
        note().unlink(missing_ok=True)
    except OSError as error:
        print(f"specdec: {note()} cannot be removed: {error}", flush=True)


class StepCollector:
    """What a registry of prometheus_client asks at each scrape. family: its class of counters."""

    def __init__(self, family: Any) -> None:
        self._family = family

    def collect(self) -> Iterator[Any]:
        """Return the families; none while there are no sums."""
        try:
            sums = read(json.loads(note().read_bytes()))
        except (OSError, ValueError, TypeError):
            return
        if not sums:
            return
        for field, name, words in _FAMILIES:
            family = self._family(f"{_PREFIX}{name}", f"{words}, {_HELP}", labels=_LABELS)
            for kind, each in sums.items():
                family.add_metric(_labels(kind), getattr(each, field))
            yield family
        words, labels = f"Draft tokens that were accepted, {_HELP}, and by position", (*_LABELS, "position")
        accepted = self._family(f"{_PREFIX}accepted_tokens", words, labels=labels)
        for kind, each in sums.items():
            for position, count in enumerate(each.accepted):
                accepted.add_metric((*_labels(kind), str(position)), count)
        yield accepted


def register() -> None:
    """Have the server's own registry show the sums. A server without one goes on without them."""
    try:
        from prometheus_client import REGISTRY  # noqa: PLC0415 - vLLM's own requirement, in its processes only
        from prometheus_client.core import CounterMetricFamily  # noqa: PLC0415

        REGISTRY.register(StepCollector(CounterMetricFamily))
    except Exception as error:
        _LOG.warning("specdec: /metrics does not show the engine's steps: %r", error)


def _labels(kind: StepKind) -> tuple[str, str, str]:
    return str(kind.tokens), str(kind.batch), str(kind.prompt).lower()
