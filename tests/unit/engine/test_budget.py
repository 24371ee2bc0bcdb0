"""Less memory for a CPU engine: by its KV cache, as the engine applies it."""

import pathlib
import re
from typing import Any

import pytest

from specdec_engine.memory.cpu import OF_RUNTIME, VARIABLE
from specdec_operator.engine.budget import budget, within
from specdec_operator.engine.translate import translate

NGRAM = {"method": "ngram", "tokens": 3}
ROOT = pathlib.Path(__file__).parents[3]


def flags(share: float = 0.05, *, limit: Any = "4Gi", speculation: Any = NGRAM, **engine: Any) -> dict[str, Any]:
    """The flags of a CPU engine whose memory is lowered by a share."""
    limits = {} if limit is None else {"resources": {"limits": {"memory": limit}}}
    spec = {"engine": {"accelerator": "cpu", **engine}, "speculation": speculation} | limits
    request = translate(spec, draft_path="/mnt/draft/model")
    return dict(within(request, budget(spec, request, lowered_further=share)).flags)


def cache(gib: str) -> list[dict[str, str]]:
    return [{"name": VARIABLE, "value": gib}]


@pytest.mark.parametrize(
    ("asked", "mib"),
    [
        ({}, 819),
        ({"share": 0.1}, 614),
        ({"limit": "64Gi"}, 128),
        ({"limit": None}, 768),
        ({"limit": 4 * 1024**3}, 819),
        ({"limit": "a lot"}, 768),
        ({"env": cache("3")}, 2867),
        ({"env": cache("3"), "runtime": "own"}, 2867),
        ({"version": "0.28.0"}, 819),
    ],
    ids=[
        "0.05 of 4 GiB",
        "0.1",
        "an eighth stays",
        "no limit",
        "bytes",
        "no size",
        "own cache",
        "own runtime",
        "oldest",
    ],
)
def test_the_cache_is_lowered_by_a_share_of_the_container(asked: dict[str, Any], mib: int) -> None:
    """The cache is 1 GiB, as in the runtime, or the value of the user's variable."""
    assert flags(**asked) == {"kv_cache_memory_bytes": mib * 1024**2}


@pytest.mark.parametrize(
    ("asked", "made"),
    [
        ({"share": 0.0}, {}),
        ({"speculation": None}, {}),
        ({"args": ["--kv-cache-memory-bytes=99"]}, {}),
        ({"version": "0.27.1"}, {}),
        ({"env": cache("0")}, {}),
        ({"env": cache("much")}, {}),
        ({"env": [{"name": VARIABLE, "valueFrom": {"configMapKeyRef": {"name": "a", "key": "b"}}}]}, {}),
        ({"runtime": "own"}, {"gpu_memory_utilization": 0.87}),
        ({"runtime": "own", "gpuMemoryUtilization": 0.5}, {"gpu_memory_utilization": 0.45}),
    ],
    ids=["nothing", "plain", "the user's flag", "old", "none", "no number", "elsewhere", "own runtime", "own share"],
)
def test_a_setting_that_the_engine_ignores_is_not_lowered(asked: dict[str, Any], made: dict[str, Any]) -> None:
    """A user's runtime may set no cache. Then the share of the container's memory is lowered."""
    assert flags(**asked) == made


def test_the_runtimes_cache_is_the_one_of_its_manifest() -> None:
    """The variable sets the default there."""
    manifest = (ROOT / "manifests/runtimes/cpu.yaml").read_text()
    assert re.findall(rf'{VARIABLE}\n +value: "(\d+)"', manifest) == [str(OF_RUNTIME)]
