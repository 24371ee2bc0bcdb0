"""What the engine's page says of its KV cache: how many tokens it really holds."""

import re
from typing import Final

_INFO: Final = "vllm:cache_config_info{"
_TOKENS: Final = re.compile(r'[{,]kv_cache_size_tokens="([0-9]{1,15})(?:\.0)?"')
_BLOCKS: Final = re.compile(r'[{,]num_gpu_blocks="([0-9]{1,15})"')
_BLOCK: Final = re.compile(r'[{,]block_size="([0-9]{1,9})"')


def kv_tokens(page: str) -> int | None:
    """Tokens that the caches of all ranks on a page hold; None where one of them does not tell.

    vLLM writes its configuration as labels, hundreds of characters that change with each release, so the line is not
    parsed with the counters: what it lacks or gets wrong must not make a pod unread. The version of our CPU
    image (0.32) has the tokens; a page without them has blocks and tokens of one, which come to the same where all
    layers have one kind of cache.
    """
    ranks = [_of_rank(line) for line in page.splitlines() if line.startswith(_INFO)]
    return None if not ranks or None in ranks else sum(each or 0 for each in ranks) or None


def _of_rank(line: str) -> int | None:
    if told := _TOKENS.search(line):
        return int(told.group(1))
    blocks, block = _BLOCKS.search(line), _BLOCK.search(line)
    return int(blocks.group(1)) * int(block.group(1)) if blocks and block else None
