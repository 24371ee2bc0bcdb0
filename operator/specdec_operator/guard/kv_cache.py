"""The KV cache as the engine's page shows it: how many tokens it really holds, and how much of it is in use."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from specdec_engine.metrics import CACHE_IN_USE, CACHE_IN_USE_BEFORE

_INFO: Final = "vllm:cache_config_info{"
_IN_USE: Final = (f"{CACHE_IN_USE}{{", f"{CACHE_IN_USE_BEFORE}{{")
_TOKENS: Final = re.compile(r'[{,]kv_cache_size_tokens="([0-9]{1,15})(?:\.0)?"')
_BLOCKS: Final = re.compile(r'[{,]num_gpu_blocks="([0-9]{1,15})"')
_BLOCK: Final = re.compile(r'[{,]block_size="([0-9]{1,9})"')
_SHARE: Final = re.compile(r'[{,]gpu_memory_utilization="(0?\.[0-9]{1,9}|1(?:\.0)?)"')
_REQUESTS: Final = re.compile(r'[{,]kv_cache_max_concurrency="([0-9]{1,9}(?:\.[0-9]{1,20})?)"')
_VALUE: Final = re.compile(r"} (0(?:\.[0-9]{1,20})?|1(?:\.0)?|[0-9](?:\.[0-9]{1,20})?e-[0-9]{1,3})$")


@dataclass(frozen=True, slots=True, kw_only=True)
class KvCache:
    """The KV cache of one pod. A value is None if the page does not have it.

    tokens: of all ranks together. ranks: data-parallel engines on the page. requests: number of requests of the maximum
    length that fit at once. utilization: the share of the device that the engine was given. used: the share of the
    cache that is in use, of the rank that uses most.
    """

    tokens: int | None = None
    ranks: int = 1
    requests: float | None = None
    utilization: float | None = None
    used: float | None = None

    def after(self, earlier: "KvCache | None") -> "KvCache":
        """The same at a later reading: what was in use at most is kept."""
        return replace(self, used=_most(each.used for each in (self, earlier) if each is not None))


def read_kv_cache(page: str) -> KvCache | None:
    """The cache as a page shows it; None if the page has no line about it. A value in an unknown form is None.

    vLLM writes its configuration as labels, hundreds of characters that change with each release, so the line is not
    parsed with the counters. A missing or wrong label must not make a pod unread. The version of our CPU image (0.32)
    has the tokens. A page without them has the number of blocks and the tokens of one block; their product is the same
    number if all layers have one kind of cache.
    """
    lines = page.splitlines()
    ranks = [line for line in lines if line.startswith(_INFO)]
    if not ranks:
        return None
    tokens = [_tokens(line) for line in ranks]
    requests = [each for line in ranks if (each := _number(_REQUESTS, line))]
    shares = [each for line in ranks if (each := _number(_SHARE, line))]
    return KvCache(
        tokens=None if None in tokens else sum(each or 0 for each in tokens) or None,
        ranks=len(ranks),
        requests=sum(requests) if len(requests) == len(ranks) else None,
        utilization=min(shares, default=None),
        used=_most(_number(_VALUE, line) for line in lines if line.startswith(_IN_USE)),
    )


def smallest(caches: Iterable[KvCache | None]) -> KvCache | None:
    """Of several pods: the one that holds fewest tokens, with what was in use at most of any of them."""
    known = [each for each in caches if each is not None]
    if not known:
        return None
    least = min(known, key=lambda each: (each.tokens is None, each.tokens or 0))
    return replace(least, used=_most(each.used for each in known))


def _most(shares: Iterable[float | None]) -> float | None:
    return max((each for each in shares if each is not None), default=None)


def _tokens(line: str) -> int | None:
    if told := _TOKENS.search(line):
        return int(told.group(1))
    blocks, block = _BLOCKS.search(line), _BLOCK.search(line)
    return int(blocks.group(1)) * int(block.group(1)) if blocks and block else None


def _number(pattern: re.Pattern[str], line: str) -> float | None:
    found = pattern.search(line)
    return float(found.group(1)) if found else None
