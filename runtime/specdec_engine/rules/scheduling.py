"""Room in a batch, which drafting takes from, and asynchronous scheduling."""

from collections.abc import Iterator
from typing import Final

from specdec_engine.batches import batches
from specdec_engine.model_runner import Runner, runner
from specdec_engine.resolve import Resolved
from specdec_engine.rule import Finding, at_flag, broken

_TOKENS: Final = "args.max_num_batched_tokens"


def batch_slots(resolved: Resolved) -> Iterator[Finding]:
    """The plain scheduler's own limits, then those of speculation.

    What the engine fills in depends on the device: where that is not known, only what is so on all of them is found.
    """
    longest = resolved.context
    threshold = resolved.case.size("long_prefill_token_threshold", 0)
    if longest is not None and threshold > longest:
        message = f"{threshold} is above {longest} tokens"
        yield at_flag("PREFILL-THRESHOLD", "long_prefill_token_threshold", threshold, message)
    found = [tuple(_limits(*each, resolved)) for each in batches(resolved)]
    everywhere = set.intersection(*({each.rule.id for each in some} for some in found)) if found else set()
    yield from (each for each in (found[0] if found else ()) if each.rule.id in everywhere)


def _limits(tokens: int, requests: int | None, resolved: Resolved) -> Iterator[Finding]:
    """Of one batch."""
    longest = resolved.context
    chunked = resolved.case.args.get("enable_chunked_prefill") is not False
    if not chunked and longest is not None and tokens < longest:
        yield broken("BATCH-CONTEXT", _TOKENS, tokens, f"{tokens} is below the longest prompt of {longest} tokens")
    if requests is not None and tokens < requests:
        yield broken("BATCH-REQUESTS", _TOKENS, tokens, f"{tokens} is below max_num_seqs {requests}")
    if resolved.speculates and resolved.k is not None and resolved.method:
        yield from _drafting(resolved.k, tokens, requests, resolved)


def _drafting(k: int, tokens: int, requests: int | None, resolved: Resolved) -> Iterator[Finding]:
    each = _slots(k, resolved)
    if not resolved.at_least("0.28") and each and requests is not None:
        every = each * requests
        if tokens <= every:
            message = f"{requests} requests need {each} slots each, so set more than {every}"
            yield broken("SLOTS-ALL", _TOKENS, tokens, message)
        elif tokens < 2 * every:
            message = (
                f"{every} of {tokens} tokens of a batch are reserved for drafts, which leaves {tokens - every} for "
                "prompts"
            )
            yield broken("SLOTS-STARVED", _TOKENS, tokens, f"{message}; set {2 * every}, or allow fewer requests")
    each = max(each, _ahead(k, resolved))
    if tokens <= each:
        yield broken("SLOTS-ONE", _TOKENS, tokens, f"a request needs {each} slots; set more tokens")
    if resolved.method in ("dflash", "dspark") and requests is not None and tokens // max(1, each) < requests:
        fit = tokens // max(1, each)
        message = (
            f"with {each} tokens per request, a draft pass fits {fit} of {requests} requests, and the engine runs no "
            "more"
        )
        yield broken(
            "SLOTS-ACTIVE", _TOKENS, tokens, f"{message}; set {each * requests} tokens, or allow fewer requests"
        )
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


_ANCHORED: Final = frozenset(("eagle", "eagle3", "mtp", "draft_model", "dspark"))


def _ahead(k: int, resolved: Resolved) -> int:
    """Since 0.33: positions past the scheduled ones that the drafter of one request writes."""
    if not resolved.at_least("0.33"):
        return 0
    config = resolved.draft.config if resolved.draft is not None else {}
    fills = resolved.method == "dspark" and config.get("sample_from_anchor", True) is False
    if resolved.method == "dflash" or fills:
        return k + 1
    return k if resolved.method in _ANCHORED else 0


_FIELD: Final = "args.async_scheduling"
_ALWAYS: Final = frozenset(("eagle", "eagle3", "mtp", "extract_hidden_states", "dflash", "dspark"))


def async_scheduling(resolved: Resolved) -> Iterator[Finding]:
    """Explicit settings first; then the engine's own choice."""
    flag = resolved.case.args.get("async_scheduling")
    if flag is True:
        yield from _asked(resolved)
    elif flag is None and resolved.speculates and resolved.method and not _runs(resolved):
        yield broken(
            "ASYNC-OFF",
            _FIELD,
            None,
            f"{resolved.method} is scheduled synchronously, so each step waits for the previous one; no action is "
            "needed",
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
