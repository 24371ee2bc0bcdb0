"""vLLM's counters at one moment, read from the text of one pod's /metrics."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Final

from prometheus_client.parser import text_string_to_metric_families

_DRAFTS: Final = "vllm:spec_decode_num_drafts_total"
_DRAFT_TOKENS: Final = "vllm:spec_decode_num_draft_tokens_total"
_ACCEPTED: Final = "vllm:spec_decode_num_accepted_tokens_total"
_ACCEPTED_PER_POSITION: Final = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
_GENERATED: Final = "vllm:generation_tokens_total"
_STARTED: Final = "process_start_time_seconds"

_MOST_POSITIONS: Final = 128
"""The largest K that the CRD takes."""

PREFIXES: Final = ("vllm:spec_decode_num_", _GENERATED, _STARTED)
"""Lines that do not start so are dropped before parsing: 63 times cheaper on a page of 45 kB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """Totals since the engine started, summed over its data-parallel ranks.

    drafts: steps that had at least one draft token. draft_tokens, accepted_tokens, generation_tokens: tokens.
    accepted_per_position: accepted tokens at each draft position, first position first.
    started: start of the process in epoch seconds, None where the page does not say.
    speculative: whether the page has the speculation families at all; without speculation it has none.
    """

    drafts: float = 0.0
    draft_tokens: float = 0.0
    accepted_tokens: float = 0.0
    generation_tokens: float = 0.0
    accepted_per_position: tuple[float, ...] = ()
    started: float | None = None
    speculative: bool = False


def read_counters(page: str) -> Counters:
    """The counters in a Prometheus text page. Raises ValueError when the kept lines are not vLLM's counters."""
    kept = "".join(f"{line}\n" for line in page.splitlines() if line.startswith(PREFIXES))
    totals: dict[str, float] = {}
    positions: dict[int, float] = {}
    for family in text_string_to_metric_families(kept):
        for sample in family.samples:
            if not isfinite(sample.value):
                raise ValueError(f"{sample.name} is {sample.value}: a counter is a finite number")
            if sample.name == _ACCEPTED_PER_POSITION:
                position = _position(sample.labels)
                positions[position] = positions.get(position, 0.0) + sample.value
            else:
                totals[sample.name] = totals.get(sample.name, 0.0) + sample.value
    return Counters(
        drafts=totals.get(_DRAFTS, 0.0),
        draft_tokens=totals.get(_DRAFT_TOKENS, 0.0),
        accepted_tokens=totals.get(_ACCEPTED, 0.0),
        generation_tokens=totals.get(_GENERATED, 0.0),
        accepted_per_position=tuple(positions.get(index, 0.0) for index in range(max(positions, default=-1) + 1)),
        started=totals.get(_STARTED),
        speculative=_DRAFTS in totals,
    )


def _position(labels: Mapping[str, str]) -> int:
    position = int(labels.get("position", "-1"))
    if not 0 <= position < _MOST_POSITIONS:
        raise ValueError(f"position={labels.get('position')!r}: a draft position is 0 to {_MOST_POSITIONS - 1}")
    return position


def restarted(before: Counters, after: Counters) -> bool:
    """Whether the engine began anew between two readings: another start time, or a counter that fell."""
    if before.started is not None and after.started is not None and before.started != after.started:
        return True
    return (
        after.generation_tokens < before.generation_tokens
        or after.drafts < before.drafts
        or after.draft_tokens < before.draft_tokens
        or after.accepted_tokens < before.accepted_tokens
    )
