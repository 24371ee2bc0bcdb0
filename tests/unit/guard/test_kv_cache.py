"""How many tokens the KV cache holds, from the line in which vLLM writes its configuration as labels."""

import pytest

from specdec_operator.guard.counters import read_counters
from specdec_operator.guard.kv_cache import kv_tokens

REAL = (
    'vllm:cache_config_info{_block_size_resolved="True",block_size="128",cache_dtype="auto",'
    'cache_hit_alignment_tokens="None",effective_attention_block_size="128",engine="0",gpu_memory_utilization="0.92",'
    'kv_cache_max_concurrency="512.0",kv_cache_memory_bytes="1073741824",kv_cache_size_tokens="524288",'
    'mamba_block_size="None",num_cpu_blocks="None",num_gpu_blocks="4096",num_gpu_blocks_override="None"} 1.0\n'
)
"""From a pod of the CPU image (vLLM 0.32), some labels left out."""
OLDER = REAL.replace('kv_cache_size_tokens="524288",', "")


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
    """What is not told is not known."""
    assert kv_tokens(page) == tokens


def test_a_line_that_is_long_or_broken_leaves_the_pod_readable() -> None:
    """The counters are what decides; this line only tells."""
    counters = 'vllm:generation_tokens_total{engine="0"} 10.0\n'
    for line in (REAL, REAL.replace("auto", "x" * 5000), REAL.replace('"} 1.0', " nonsense")):
        assert read_counters(counters + line).generation_tokens == 10.0
    assert read_counters(counters + REAL).kv_tokens == 524_288
