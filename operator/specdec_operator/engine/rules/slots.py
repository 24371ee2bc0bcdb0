"""Room in a batch: drafting adds slots, and the scheduler must be left with some."""

from collections.abc import Iterator
from typing import Final

from specdec_operator.engine import flags
from specdec_operator.engine.rule import Finding
from specdec_operator.engine.rules.making import SPECULATIVE, refused, warned
from specdec_operator.engine.settled import Settled
from specdec_operator.engine.version import holds

_SLOTS: Final = f"{SPECULATIVE} max_num_new_slots_for_drafting, config/vllm.py _set_max_num_scheduled_tokens"

ALL: Final = refused(
    "SLOTS-ALL",
    "max_num_batched_tokens is above the drafting slots of all requests.",
    _SLOTS,
    since="0.17",
    until="0.27",
)
ONE: Final = refused(
    "SLOTS-ONE", "max_num_batched_tokens is above the drafting slots of one request.", _SLOTS, since="0.28"
)
STARVED: Final = warned(
    "SLOTS-STARVED",
    "Drafting slots of all requests leave little of a batch for prompts.",
    _SLOTS,
    since="0.17",
    until="0.27",
)
LORA: Final = refused(
    "LORA-BATCH", "With LoRA a batch holds K+1 tokens for each request.", "engine/arg_utils.py create_engine_config"
)
CHUNKED: Final = refused(
    "BATCH-CONTEXT",
    "Without chunked prefill a batch holds the longest prompt.",
    "config/scheduler.py verify_max_model_len",
)
REQUESTS: Final = refused(
    "BATCH-REQUESTS", "A batch holds at least one token for each request.", "config/scheduler.py verify_max_model_len"
)

THRESHOLD: Final = refused(
    "PREFILL-THRESHOLD",
    "long_prefill_token_threshold is at most max_model_len.",
    "config/scheduler.py verify_max_model_len",
    since="0.32",
)

RULES: Final = (ALL, ONE, STARVED, LORA, CHUNKED, REQUESTS, THRESHOLD)

_TOKENS: Final = "args.max_num_batched_tokens"


def check(settled: Settled) -> Iterator[Finding]:
    """The plain scheduler's own limits, then those of speculation."""
    tokens = flags.batch_tokens(settled.case, settled.target)
    requests = flags.requests(settled.case, settled.target)
    longest = flags.context(settled.case, settled.target)
    chunked = settled.case.args.get("enable_chunked_prefill") is not False
    threshold = flags.size(settled.case, "long_prefill_token_threshold", 0) or 0
    if longest is not None and threshold > longest:
        yield THRESHOLD.broken("args.long_prefill_token_threshold", threshold, f"{threshold} is above {longest} tokens")
    if tokens is None:
        return
    if not chunked and longest is not None and tokens < longest:
        yield CHUNKED.broken(_TOKENS, tokens, f"{tokens} is below the longest prompt of {longest} tokens")
    if requests is not None and tokens < requests:
        yield REQUESTS.broken(_TOKENS, tokens, f"{tokens} is below max_num_seqs {requests}")
    if settled.speculates and settled.k is not None and settled.method:
        yield from _drafting(settled.k, tokens, requests, settled)


def _drafting(k: int, tokens: int, requests: int | None, settled: Settled) -> Iterator[Finding]:
    each = slots(k, settled)
    if not settled.at_least("0.28") and each and requests is not None:
        if tokens <= each * requests:
            yield ALL.broken(
                _TOKENS, tokens, f"{requests} requests take {each} slots each: more than {each * requests}"
            )
        elif tokens < 2 * each * requests:
            yield STARVED.broken(_TOKENS, tokens, f"{each * requests} of {tokens} tokens of a batch go to drafts")
    if tokens <= each:
        yield ONE.broken(_TOKENS, tokens, f"a request takes {each} slots; allow more tokens")
    with_lora = flags.switched(settled.case, "enable_lora")
    if with_lora and requests is not None and tokens < requests * (k + 1):
        yield LORA.broken(_TOKENS, tokens, f"{requests} requests of {k + 1} tokens need {requests * (k + 1)}")


def slots(k: int, settled: Settled) -> int:
    """Slots that drafting adds for one request."""
    method = settled.method
    parallel = method in ("dflash", "dspark") or settled.value("parallel_drafting", False)
    if holds(settled.version, "0.33") and method in ("dflash", "dspark"):
        return 0
    if settled.at_least("0.28"):
        if method == "dflash" or (parallel and method == "draft_model"):
            return k
        return k - 1 if parallel else int(method == "draft_model")
    return (k - 1 if parallel else 0) + int(method == "draft_model")
