"""A stand-in for vLLM over HTTP: recorded pages of a real server, one for each read, or pages of a test."""

import gzip
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.hostile_http import Answer, answering

DATA = Path(__file__).parents[2] / "data"
MODELS = (DATA / "vllm" / "models.json").read_bytes()
COMPLETION = (DATA / "vllm" / "completion.json").read_bytes()
VERSION = b'{"version": "0.32.0"}'
CACHE = 'vllm:cache_config_info{engine="0",kv_cache_size_tokens="4096"} 1.0\n'


def recorded(name: str) -> list[str]:
    """The pages of a recording, with the line about the KV cache that the recording left out."""
    lines = gzip.decompress((DATA / "traces" / f"{name}.jsonl.gz").read_bytes()).decode().splitlines()
    return [each["text"] + CACHE for each in map(json.loads, lines) if each["ok"]]


def page(**values: Any) -> str:
    """A page of an engine that has done so much. started, model and rank may be given."""
    return "\n".join([*_lines(**values), ""])


def _lines(model: str = "m", rank: str = "0", started: float = 1.0, **values: Any) -> Iterator[str]:
    labels = f'{{engine="{rank}",model_name="{model}"}}'
    yield f"process_start_time_seconds {started}"
    yield CACHE.strip()
    drafts = values.get("drafts")
    yield f"vllm:generation_tokens_total{labels} {values.get('generated', 0.0)}"
    yield f"vllm:num_requests_running{labels} {values.get('running', 1.0)}"
    yield f"vllm:num_requests_waiting{labels} {values.get('waiting', 0.0)}"
    yield f"vllm:kv_cache_usage_perc{labels} {values.get('used', 0.1)}"
    yield f"vllm:num_preemptions_total{labels} {values.get('preemptions', 0.0)}"
    if drafts is None:
        return
    accepted = values.get("accepted", 0.0)
    yield f"vllm:spec_decode_num_drafts_total{labels} {drafts}"
    yield f"vllm:spec_decode_num_draft_tokens_total{labels} {2 * drafts}"
    yield f"vllm:spec_decode_num_accepted_tokens_total{labels} {accepted}"
    first = min(drafts, accepted)
    for position, count in enumerate((first, accepted - first)):
        place = f'{labels[:-1]},position="{position}"}}'
        yield f"vllm:spec_decode_num_accepted_tokens_per_pos_total{place} {count}"


def engine(pages: Sequence[str] | str, **replaced: Answer) -> dict[str, Answer]:
    """What each path answers. The last page stays. replaced: by the end of the path, such as `version`."""
    own: dict[str, Answer] = {
        "/version": answering(VERSION),
        "/v1/models": answering(MODELS),
        "/metrics": answering(_by_turns([pages] if isinstance(pages, str) else pages)),
        "/v1/completions": answering(COMPLETION),
    }
    return {path: replaced.get(path.rpartition("/")[2], answer) for path, answer in own.items()}


def _by_turns(pages: Sequence[str]) -> Callable[[], bytes]:
    left = list(pages)

    def turn() -> bytes:
        return (left.pop(0) if len(left) > 1 else left[0]).encode()

    return turn


def as_json(value: Any) -> Answer:
    """An answer of JSON."""
    return answering(json.dumps(value).encode())
