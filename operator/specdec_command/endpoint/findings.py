"""What `specdec check` concludes from what it saw: each finding with what it means and what to do. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from specdec_command.endpoint.seen import Seen
from specdec_engine.version import NEWEST, OLDEST, major_minor
from specdec_operator.api.guard import Guard
from specdec_operator.guard.cache_use import WAYS_OUT, length_fall
from specdec_operator.guard.policy import thresholds
from specdec_operator.guard.statistics import wilson_upper
from specdec_operator.guard.what_if import HIGH, STRONGER, fewer_tokens, more_tokens, surely
from specdec_operator.guard.window import Evidence

_LOW: Final = 0.4
"""Acceptance below which most drafted tokens are work for nothing; methods that draft whole blocks live below it."""
_UNUSED: Final = 0.05
"""Share of drafts that reach a position, below which that position is work for nothing."""
_FULL: Final = 0.95
_FEW: Final = 100
"""Drafts below which acceptance by position proves nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointFinding:
    """One finding. to_fix: whether something does not work, which is not only worth a look."""

    id: str
    to_fix: bool
    what: str
    means: str
    do: str


def findings(seen: Seen) -> tuple[EndpointFinding, ...]:
    """Everything that was found, first what does not work."""
    found = [*_troubles(seen), *_version(seen), *_counters(seen)]
    evidence = seen.evidence
    if evidence is not None and not evidence.restarted and not seen.several:
        found += [*_speculation(seen, evidence), *_load(seen, evidence)]
    return tuple(sorted(found, key=lambda each: not each.to_fix))


def _fix(name: str, what: str, means: str, do: str) -> EndpointFinding:
    return EndpointFinding(id=name, to_fix=True, what=what, means=means, do=do)


def _look(name: str, what: str, means: str, do: str) -> EndpointFinding:
    return EndpointFinding(id=name, to_fix=False, what=what, means=means, do=do)


_MEANS: Final = {
    "/metrics": (
        "MetricsUnread",
        "without it speculation and acceptance are unknown, and no guard can watch this engine",
    ),
    "/v1/models": ("ModelsUnread", "clients cannot find the model"),
    "/version": ("VersionUnread", "what this engine supports is unknown"),
}
_NOT_ANSWERED: Final = ("NotAnswering", "clients get no answer from this server either")


def _troubles(seen: Seen) -> Iterator[EndpointFinding]:
    for each in seen.troubles:
        name, means = _MEANS.get(each.path, _NOT_ANSWERED)
        report = _look if each.path == "/version" else _fix
        yield report(name, f"{each.path}: {each.what}", means, each.fix)


def _version(seen: Seen) -> Iterator[EndpointFinding]:
    known = major_minor(seen.version)
    if known is None:
        return
    oldest, newest = (".".join(map(str, each)) for each in (OLDEST, NEWEST))
    if known < OLDEST:
        what, means = f"vLLM {seen.version} is older than {oldest}", "its counters and rules are not known here"
        yield _look("VersionOld", what, means, f"use {oldest} or newer")
    if known > NEWEST:
        what, means = f"vLLM {seen.version} is newer than {newest}", "this release does not know what changed in it"
        yield _look("VersionNew", what, means, "use a newer specdec, or check its output against the engine's log")


def _counters(seen: Seen) -> Iterator[EndpointFinding]:
    """Whether the counters are those of one engine that runs."""
    evidence = seen.evidence
    if seen.several:
        means = "several engines answer at this address by turns, so no counter can be compared with an earlier one"
        what = f"{len(set(seen.starts))} start times of the process were seen"
        yield _fix("SeveralEngines", what, means, "check one engine: the address of one pod, or a port-forward to it")
    elif evidence is not None and evidence.restarted:
        means = "the figures of this window are not comparable"
        what = "the engine restarted during the window"
        yield _fix("Restarted", what, means, "read the log of the run before: it may have crashed")
    elif evidence is not None and seen.answer and evidence.generation_tokens < seen.answer.tokens:
        what = (
            f"the answer had {seen.answer.tokens} tokens, and the counters show {evidence.generation_tokens:.0f} more"
        )
        means = "the metrics are of another engine than the answer, or the engine does not count"
        do = "check one engine by its own address; if it is that, remove --disable-log-stats"
        yield _fix("CountersStandStill", what, means, do)


def _speculation(seen: Seen, evidence: Evidence) -> Iterator[EndpointFinding]:
    if not evidence.speculative:
        what = "the engine has no counters of speculation"
        means = "speculation is off: each step yields one token"
        yield _look("NotSpeculating", what, means, f"{_recommend(seen)} shows which method fits")
    elif not evidence.drafts:
        yield from _nothing_drafted(evidence)
    else:
        yield from _accepted(seen, evidence)
        yield from _falls(seen)


def _nothing_drafted(evidence: Evidence) -> Iterator[EndpointFinding]:
    if not evidence.decode_tokens:
        means = "there is no acceptance of this window; that since the start is shown above"
        yield _look(
            "NoTraffic", f"no token was decoded{_over(evidence)}", means, "repeat it under traffic, or set --for"
        )
        return
    what = f"the engine decoded {evidence.decode_tokens:.0f} tokens and drafted none{_over(evidence)}"
    means = "n-gram and suffix draft only where text repeats; any other method does not work"
    yield _look("NotDrafting", what, means, "read the engine's log, and look at --speculative-config")


def _accepted(seen: Seen, evidence: Evidence) -> Iterator[EndpointFinding]:
    rate = evidence.acceptance_rate or 0.0
    if wilson_upper(rate, evidence.drafts) < _LOW:
        yield _low(seen, evidence, rate)
    elif surely(evidence, rate) >= HIGH:
        yield _high(seen, evidence, rate)
    used = _used_positions(evidence)
    if 0 < used < len(evidence.accepted_per_position):
        share = evidence.accepted_per_position[used] / evidence.drafts
        what = f"position {used + 1} of {len(evidence.accepted_per_position)} is accepted in {share:.2f} of the drafts"
        means = "the tokens from there on are work for nothing"
        yield _look("PositionsUnused", what, means, f"set num_speculative_tokens to {used}")


def _low(seen: Seen, evidence: Evidence, rate: float) -> EndpointFinding:
    rows = fewer_tokens(evidence, thresholds(Guard(), None, tokens=0), None)
    better = max((row.tokens for row in rows[:-1] if row.rate >= _LOW), default=None)
    fewer = f"draft {better} tokens per step" if better else "take another draft or no speculation"
    means = "most drafted tokens are work for nothing; methods that draft whole blocks (dflash) may still pay"
    do = f"{fewer}, and compare with the same engine without speculation; {_recommend(seen)} shows other methods"
    return _look("AcceptanceLow", f"acceptance is {rate:.2f} < {_LOW}{_over(evidence)}", means, do)


def _high(seen: Seen, evidence: Evidence, rate: float) -> EndpointFinding:
    more = more_tokens(evidence, None, lambda _: True)
    larger = f"set num_speculative_tokens to {more.tokens}" if more else "try more tokens per step"
    means = "more tokens per step would probably be accepted too"
    do = f"{larger}, or {STRONGER}; {_recommend(seen)} lists drafts"
    return _look("AcceptanceHigh", f"acceptance is {rate:.2f} > {HIGH}{_over(evidence)}", means, do)


def _used_positions(evidence: Evidence) -> int:
    """How many of the first positions are accepted often enough; all of them where too little was drafted."""
    positions = evidence.accepted_per_position
    if evidence.drafts < _FEW:
        return len(positions)
    shares = (each / evidence.drafts for each in positions)
    return next((index for index, share in enumerate(shares) if share < _UNUSED), len(positions))


def _falls(seen: Seen) -> Iterator[EndpointFinding]:
    if fall := length_fall(seen.cache_readings):
        means = "the draft guesses long requests worse, or preempted requests are computed again"
        yield _look("LengthFalls", fall.message, means, WAYS_OUT)


def _load(seen: Seen, evidence: Evidence) -> Iterator[EndpointFinding]:
    for engine, each in evidence.standstills.items():
        if each.lasts(0.0):
            do = "restart the engine, and keep its log"
            yield _fix("Stalled", f"{engine}: {each.message}", "the engine hangs, though /health answers", do)
    used = evidence.kv_cache.used if evidence.kv_cache else None
    if used is not None and used >= _FULL:
        means = "requests wait or are preempted, and a draft takes room that they need"
        do = "lower --max-num-seqs, add replicas or memory, or take a smaller draft"
        yield _look("CacheFull", f"{100 * used:.0f} % of the KV cache was in use", means, do)
    if evidence.side.preemptions:
        means = "their tokens are computed again, which costs more than a draft brings"
        do = "lower --max-num-seqs, or leave the KV cache more room"
        yield _look("Preemptions", f"{evidence.side.preemptions:.0f} preemptions{_over(evidence)}", means, do)
    waiting = sum(each.waiting or 0.0 for reading in seen.readings for each in reading.engines.values())
    if waiting >= len(seen.readings):
        means = "the batch is full, and a full batch has no idle time in which drafts are free"
        do = "compare with the engine without speculation at this load, or draft fewer tokens when it is full"
        yield _look("Queue", f"{waiting / len(seen.readings):.0f} requests wait on average", means, do)


def _over(evidence: Evidence) -> str:
    drafted = f", {evidence.draft_tokens:.0f} drafted tokens" if evidence.draft_tokens else ""
    return f" over {evidence.seconds:.0f} s{drafted}"


def _recommend(seen: Seen) -> str:
    return f"`specdec recommend {seen.models[0].name if seen.models else 'MODEL'}`"
