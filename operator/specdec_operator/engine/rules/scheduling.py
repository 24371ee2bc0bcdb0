"""Room in a batch, which drafting takes from, and asynchronous scheduling."""

from collections.abc import Iterator
from typing import Final

from specdec_operator.engine.case import Case
from specdec_operator.engine.model_runner import Runner, runner
from specdec_operator.engine.resolve import Resolved
from specdec_operator.engine.rule import Finding, at_flag, broken
from specdec_operator.engine.version import Flavor

_CPU_TOKENS: Final = 2048
_CPU_REQUESTS: Final = 128
"""What the CPU engine fills in for each device; on others it depends on the device."""
_TOKENS: Final = "args.max_num_batched_tokens"


def batch_slots(resolved: Resolved) -> Iterator[Finding]:
    """The plain scheduler's own limits, then those of speculation."""
    tokens, requests, longest = _batch_tokens(resolved), _requests(resolved), resolved.context
    chunked = resolved.case.args.get("enable_chunked_prefill") is not False
    threshold = resolved.case.size("long_prefill_token_threshold", 0)
    if longest is not None and threshold > longest:
        message = f"{threshold} is above {longest} tokens"
        yield at_flag("PREFILL-THRESHOLD", "long_prefill_token_threshold", threshold, message)
    if tokens is None:
        return
    if not chunked and longest is not None and tokens < longest:
        yield broken("BATCH-CONTEXT", _TOKENS, tokens, f"{tokens} is below the longest prompt of {longest} tokens")
    if requests is not None and tokens < requests:
        yield broken("BATCH-REQUESTS", _TOKENS, tokens, f"{tokens} is below max_num_seqs {requests}")
    if resolved.speculates and resolved.k is not None and resolved.method:
        yield from _drafting(resolved.k, tokens, requests, resolved)


def _batch_tokens(resolved: Resolved) -> int | None:
    """max_num_batched_tokens; None where it depends on the device."""
    case, longest = resolved.case, resolved.context
    if given := case.size("max_num_batched_tokens", 0):
        return given
    if case.build.flavor is not Flavor.VLLM_CPU:
        return None
    tokens = _CPU_TOKENS * _devices(case)
    if longest is None:
        return tokens
    if case.args.get("enable_chunked_prefill") is False:
        tokens = max(tokens, longest)
    return min(tokens, longest * case.size("max_num_seqs", _CPU_REQUESTS * _devices(case)))


def _requests(resolved: Resolved) -> int | None:
    """max_num_seqs; None where it depends on the device."""
    case, tokens = resolved.case, _batch_tokens(resolved)
    if given := case.size("max_num_seqs", 0):
        return given
    return min(_CPU_REQUESTS * _devices(case), tokens) if tokens and case.build.flavor is Flavor.VLLM_CPU else None


def _devices(case: Case) -> int:
    return case.size("tensor_parallel_size") * case.size("pipeline_parallel_size")


def _drafting(k: int, tokens: int, requests: int | None, resolved: Resolved) -> Iterator[Finding]:
    each = _slots(k, resolved)
    if not resolved.at_least("0.28") and each and requests is not None:
        every = each * requests
        if tokens <= every:
            message = f"{requests} requests take {each} slots each: more than {every}"
            yield broken("SLOTS-ALL", _TOKENS, tokens, message)
        elif tokens < 2 * every:
            message = f"{every} of {tokens} tokens of a batch go to drafts, which leaves {tokens - every} for prompts"
            yield broken("SLOTS-STARVED", _TOKENS, tokens, f"{message}; allow {2 * every}, or fewer requests")
    if tokens <= each:
        yield broken("SLOTS-ONE", _TOKENS, tokens, f"a request takes {each} slots; allow more tokens")
    if resolved.case.switched("enable_lora") and requests is not None and tokens < requests * (k + 1):
        yield broken("LORA-BATCH", _TOKENS, tokens, f"{requests} requests of {k + 1} tokens need {requests * (k + 1)}")


def _slots(k: int, resolved: Resolved) -> int:
    """Slots that drafting adds for one request."""
    blocks, model = resolved.method in ("dflash", "dspark"), resolved.method == "draft_model"
    parallel = blocks or resolved.value("parallel_drafting", False)
    if blocks and resolved.at_least("0.33"):
        return 0
    if not resolved.at_least("0.28"):
        return (k - 1 if parallel else 0) + model
    return (k if model or resolved.method == "dflash" else k - 1) if parallel else int(model)


_FIELD: Final = "args.async_scheduling"
_ALWAYS: Final = frozenset(("eagle", "eagle3", "mtp", "extract_hidden_states", "dflash", "dspark"))


def async_scheduling(resolved: Resolved) -> Iterator[Finding]:
    """Explicit wishes first; then what happens by itself."""
    flag = resolved.case.args.get("async_scheduling")
    if flag is True:
        yield from _asked(resolved)
    elif flag is None and resolved.speculates and resolved.method and not _runs(resolved):
        yield broken(
            "ASYNC-OFF",
            _FIELD,
            None,
            f"{resolved.method} is scheduled synchronously: a step waits for the one before; it needs nothing of you",
        )


def _asked(resolved: Resolved) -> Iterator[Finding]:
    piped = resolved.case.size("pipeline_parallel_size") > 1
    if piped:
        yield broken("ASYNC-PP", _FIELD, True, "remove --async-scheduling")
    if piped and runner(resolved) is Runner.V1:
        yield broken("ASYNC-PP-RUNNER", _FIELD, True, "remove --async-scheduling")
    if not resolved.speculates or not resolved.method:
        return
    yield broken("ASYNC-NONE", _FIELD, True, "remove --async-scheduling")
    if not _runs(resolved):
        rule = "ASYNC-RUNNER" if resolved.at_least("0.33") else "ASYNC-METHOD"
        yield broken(rule, _FIELD, True, f"{resolved.method} is scheduled synchronously; remove --async-scheduling")
    if resolved.value("disable_padded_drafter_batch", False):
        yield broken("ASYNC-UNPADDED", _FIELD, True, "remove --async-scheduling, or disable_padded_drafter_batch")


def _runs(resolved: Resolved) -> bool:
    """Whether the method can be scheduled asynchronously."""
    method = resolved.method
    if resolved.at_least("0.33"):
        return method in (*_ALWAYS, "ngram_gpu", "draft_model") or runner(resolved) is not Runner.V1
    if method == "draft_model":
        return resolved.at_least("0.16")
    return method in _ALWAYS or (method == "ngram_gpu" and resolved.at_least("0.18"))
