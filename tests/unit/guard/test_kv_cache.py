"""The size and the use of the KV cache, from vLLM's metrics."""

import pytest

from specdec_operator.guard.counters import read_counters
from specdec_operator.guard.kv_cache import KvCache, read_kv_cache, smallest
from specdec_operator.guard.window import begun

REAL = (
    'vllm:cache_config_info{_block_size_resolved="True",block_size="128",cache_dtype="auto",'
    'cache_hit_alignment_tokens="None",effective_attention_block_size="128",engine="0",gpu_memory_utilization="0.92",'
    'kv_cache_max_concurrency="512.0",kv_cache_memory_bytes="1073741824",kv_cache_size_tokens="524288",'
    'mamba_block_size="None",num_cpu_blocks="None",num_gpu_blocks="4096",num_gpu_blocks_override="None"} 1.0\n'
)
"""From a pod of the CPU image (vLLM 0.32), some labels left out."""
OLDER = REAL.replace('kv_cache_size_tokens="524288",', "")
USED = 'vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.0625\n'


@pytest.mark.parametrize(
    ("page", "tokens"),
    [
        (REAL, 524_288),
        (OLDER, 524_288),
        (REAL + REAL.replace('engine="0"', 'engine="1"'), 1_048_576),
        (OLDER.replace('num_gpu_blocks="4096"', 'num_gpu_blocks="None"'), None),
        (OLDER.replace('block_size="128",cache_dtype', 'block_size="None",cache_dtype'), None),
        (REAL + OLDER.replace('num_gpu_blocks="4096"', 'num_gpu_blocks="None"'), None),
        (REAL.replace("524288", "0"), None),
        (REAL.replace("524288", "-5").replace("4096", "x"), None),
        ("vllm:cache_config_info{} 1.0\n", None),
        ("# TYPE vllm:cache_config_info gauge\n", None),
        ("", None),
    ],
)
def test_the_tokens_of_a_page(page: str, tokens: int | None) -> None:
    """A missing value is unknown."""
    assert (read_kv_cache(page) or KvCache()).tokens == tokens


def test_a_page_has_more_about_the_cache() -> None:
    """Over all ranks: the sum of the sizes, the smallest share of memory, and the highest use."""
    whole = KvCache(tokens=524_288, requests=512.0, utilization=0.92, used=0.0625)
    assert read_kv_cache(REAL + USED) == whole
    second = REAL.replace('engine="0"', 'engine="1"').replace("0.92", "0.9")
    full = USED.replace('engine="0"', 'engine="1"').replace("0.0625", "1.0")
    both = KvCache(tokens=1_048_576, ranks=2, requests=1024.0, utilization=0.9, used=1.0)
    assert read_kv_cache(REAL + USED + second + full) == both
    assert read_kv_cache(USED) is None


@pytest.mark.parametrize(
    ("was", "said"),
    [
        ('utilization="0.92"', ("0", "1.5", "-0.9", "None", "")),
        ('concurrency="512.0"', ("inf", "None", "-1")),
        ("} 0.0625", ("NaN", "7.5", "-0.1", "+Inf", "")),
    ],
)
def test_what_cannot_be_is_not_known(was: str, said: tuple[str, ...]) -> None:
    """A share is more than 0 and at most 1, and numbers are numbers; the rest of the page still holds."""
    for each in said:
        new = f'{was.split("=", maxsplit=1)[0]}="{each}"' if "=" in was else f"}} {each}"
        cache = read_kv_cache((REAL + USED).replace(was, new))
        assert cache is not None
        assert cache.tokens == 524_288
        assert None in (cache.utilization, cache.requests, cache.used)


def test_of_several_pods_the_one_with_the_smallest_cache_counts() -> None:
    """With the highest use of all. A pod without a value changes nothing."""
    pods = (KvCache(tokens=400, used=0.2), None, KvCache(tokens=300, used=0.1), KvCache(used=0.9))
    assert smallest(pods) == KvCache(tokens=300, used=0.9)
    assert smallest((None,)) is None


def test_a_window_keeps_what_was_in_use_at_most() -> None:
    """It is a gauge: between two readings at rest the cache may have been full."""
    readings = [read_counters(f"vllm:generation_tokens_total 1.0\n{REAL}{USED.replace('0.0625', used)}") for used in
                ("0.1", "0.75", "0.2")]  # fmt: skip
    pod = begun(readings[0], 0.0)
    for at, reading in enumerate(readings[1:], 1):
        pod = pod.extended(reading, float(at), 60.0)
    assert pod.kv_cache == KvCache(tokens=524_288, requests=512.0, utilization=0.92, used=0.75)
    silent = pod.extended(read_counters("vllm:generation_tokens_total 1.0\n"), 9.0, 60.0)
    assert silent.kv_cache == pod.kv_cache


def test_a_line_that_is_long_or_broken_leaves_the_pod_readable() -> None:
    """The counters decide. This line is only information."""
    counters = 'vllm:generation_tokens_total{engine="0"} 10.0\n'
    for line in (REAL, REAL.replace("auto", "x" * 5000), REAL.replace('"} 1.0', " nonsense")):
        assert read_counters(counters + line).generation_tokens == 10.0
    assert read_counters(counters + REAL).kv_cache == read_kv_cache(REAL)
