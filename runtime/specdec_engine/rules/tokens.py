"""K, the number of draft tokens, and its schedule by batch size: within what the engine and the draft can do."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from specdec_engine.methods import MOST_TOKENS, WITHOUT_DRAFT
from specdec_engine.model_runner import Runner, runner
from specdec_engine.resolve import Resolved
from specdec_engine.rule import Finding, broken
from specdec_engine.version import holds

_TREE: Final = 20_000
_ONE_STEP: Final = frozenset(("ParseAuxMTPModel",))
_AT: Final = "speculative_config.num_speculative_tokens"


def number(resolved: Resolved) -> Iterator[Finding]:
    """Whether K is there, and then whether it fits."""
    if not resolved.speculates or resolved.reading.misreads("num_speculative_tokens"):
        return
    given = resolved.value("num_speculative_tokens")
    if given is None and resolved.method == "mtp" and resolved.opens is not None:
        yield broken("K-MTP", _AT, None, f"set the number of draft tokens; {_predicts(resolved)}")
    elif resolved.k is None:
        yield from _absent(resolved)
    else:
        yield from _fits(resolved.k, resolved)
        yield from _suits(resolved.k, resolved)


def _absent(resolved: Resolved) -> Iterator[Finding]:
    unknown_draft = resolved.opens is not None and resolved.draft is None
    if not unknown_draft and resolved.method is not None:
        yield broken("K-REQUIRED", _AT, None, "set the number of draft tokens; start with 3")


def _predicts(resolved: Resolved) -> str:
    n = resolved.draft.n_predict if resolved.draft is not None else None
    return f"the model predicts {n} in one step" if n else "start with 1"


def _fits(k: int, resolved: Resolved) -> Iterator[Finding]:
    """What the engine itself refuses."""
    draft = resolved.draft if resolved.word not in WITHOUT_DRAFT else None
    n = draft.n_predict if draft is not None and resolved.method != "dspark" else None
    if n == 0 and k > 0:
        yield broken("K-PREDICT", _AT, k, "the draft's config has a prediction length of 0 tokens")
    elif n and k > n and k % n:
        yield broken(
            "K-PREDICT",
            _AT,
            k,
            f"{k} is above the {n} tokens that the draft predicts in one step, and not a multiple of {n}",
        )
    if draft is not None and k != 1 and _ONE_STEP & set(draft.architectures):
        yield broken("K-PARSE", _AT, k, "the head is trained for one step; use 1")
    if k > _TREE and resolved.opens is not None:
        yield broken("K-TREE", _AT, k, f"{k} tokens make a tree of {k * k // 2} entries; use at most {MOST_TOKENS}")
    size = resolved.draft.block_size if resolved.draft is not None else None
    if resolved.method == "dspark" and size and k < size:
        yield broken("K-DSPARK", _AT, k, f"{k} tokens are fewer than the draft's block of {size}")


def _suits(k: int, resolved: Resolved) -> Iterator[Finding]:
    """What the engine accepts and cannot do."""
    predicts = resolved.draft.n_predict if resolved.draft is not None else None
    if resolved.method == "mtp" and predicts and k > predicts and k % predicts == 0:
        message = (
            f"the checkpoint's heads draft {predicts} tokens, so the same heads run {k // predicts} times per step"
        )
        yield broken("K-REPEATS", _AT, k, f"{message}, and later tokens have lower acceptance; compare with {predicts}")
    if k > MOST_TOKENS:
        yield broken("K-128", _AT, k, f"{k} draft tokens are above the engine's limit of {MOST_TOKENS}")
    if resolved.method == "extract_hidden_states" and k != 1:
        yield broken("HIDDEN-K", _AT, k, "extract_hidden_states needs 1")
    heads = resolved.draft.config.get("num_heads") if resolved.draft is not None else None
    if resolved.method == "medusa" and isinstance(heads, int) and k > heads:
        yield broken("K-HEADS", _AT, k, f"the draft has {heads} heads, and each drafts one token")
    size = resolved.draft.block_size if resolved.draft is not None else None
    if resolved.method == "dflash" and size and k > max(size - 1, 1):
        message = f"the draft was trained for blocks of {size}, so tokens after {size - 1} of {k} are rarely accepted"
        yield broken("K-BLOCK", _AT, k, f"{message}: use {size - 1}")


_FIELD: Final = "speculative_config.num_speculative_tokens_per_batch_size"


def schedule(resolved: Resolved) -> Iterator[Finding]:
    """Whether the schedule is looked at, and then its shape."""
    rows = resolved.value("num_speculative_tokens_per_batch_size")
    if rows is None:
        return
    ranks = resolved.case.size("data_parallel_size")
    if ranks > 1:
        yield broken("SCHEDULE-DP", _FIELD, rows, f"with {ranks} ranks every step drafts K tokens; remove the schedule")
        yield broken("SCHEDULE-DP-DEADLOCK", _FIELD, rows, f"remove the schedule, or run one rank instead of {ranks}")
    if ranks == 1 or holds(resolved.version, "", "0.25"):
        yield from _shape(rows, resolved)
    if resolved.method == "suffix":
        yield broken("SCHEDULE-SUFFIX", _FIELD, rows, "suffix chooses its own length; remove the schedule")
    if resolved.method == "medusa":
        message = "medusa drafts all tokens at once, and its drafter ends with an error; remove the schedule"
        yield broken("SCHEDULE-MEDUSA", _FIELD, rows, message)
    context = resolved.case.size("decode_context_parallel_size") > 1
    if resolved.method in ("suffix", "dspark") or context:
        yield broken("ASC-SCHEDULE", _FIELD, rows, "remove the schedule")
    if runner(resolved) is Runner.V2:
        yield from _unread(rows, resolved)
    elif runner(resolved) is Runner.V1:
        message = "with a schedule this runner captures only piecewise graphs; compare the speed without the schedule"
        yield broken("SCHEDULE-GRAPHS", _FIELD, rows, message)


_WHOLE: Final = frozenset(("draft_model", "dflash", "dspark"))
"""Methods whose drafters on the newer runner take no number of tokens since 0.32, when those of others did."""


def _unread(rows: object, resolved: Resolved) -> Iterator[Finding]:
    """What the newer runner drafts whatever the schedule is."""
    if resolved.at_least("0.32") and resolved.method not in _WHOLE:
        return
    later = "remove the schedule" if resolved.method in _WHOLE else "use 0.32 or later"
    message = f"every step still drafts all {resolved.k} tokens and verifies fewer (vLLM issue 51510); {later}"
    yield broken("SCHEDULE-UNREAD", _FIELD, rows, message)


def _shape(rows: list[tuple[int, int, int]], resolved: Resolved) -> Iterator[Finding]:
    if fault := _fault(rows):
        yield broken("SCHEDULE-SHAPE", _FIELD, rows, fault)
        return
    if resolved.k is not None and (above := [row for row in rows if row[2] > resolved.k]):
        message = (
            f"{above[0][2]} tokens are lowered to {resolved.k}, because a schedule can only lower K; raise K, or "
            "lower the row"
        )
        yield broken("SCHEDULE-ABOVE-K", _FIELD, rows, message)
    ends = sorted(rows)
    if any(later[0] != earlier[1] + 1 for earlier, later in pairwise(ends)):
        yield broken(
            "SCHEDULE-GAPS",
            _FIELD,
            rows,
            "between two ranges the earlier one continues; make the ranges adjacent",
        )


def _fault(rows: list[tuple[int, int, int]]) -> str:
    """The error of the scheduler's constructor; empty if it accepts the schedule."""
    if not rows:
        return "the schedule is empty; remove it"
    for start, end, tokens in rows:
        if start <= 0 or end < start:
            return f"the range from {start} to {end} is not valid; batch sizes start at 1"
        if tokens < 0:
            return f"{tokens} tokens is negative"
    ends = sorted(rows)
    if any(later[0] <= earlier[1] for earlier, later in pairwise(ends)):
        return "two ranges overlap"
    return "" if ends[0][0] == 1 else f"the first range starts at {ends[0][0]}, but it must start at 1"
