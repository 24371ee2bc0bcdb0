"""What `specdec check` saw, line by line for people, and as a document for programs. Pure."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, Final

from specdec_command.endpoint.findings import EndpointFinding
from specdec_command.endpoint.seen import Seen, mean_by
from specdec_operator.display.describe import listed
from specdec_operator.guard.window import Evidence

_MOST_MODELS: Final = 5


def rows(seen: Seen) -> Iterator[tuple[str, str]]:
    """What there is, and what it did in the window: a heading and a text each."""
    yield "vLLM", seen.version or "unknown"
    models = [f"{each.name} ({each.longest} tokens)" if each.longest else each.name for each in seen.models]
    yield "models", listed(models, _MOST_MODELS) or "unknown"
    if len(seen.last) > 1:
        yield "engines", listed([*seen.last], _MOST_MODELS)
    if seen.answer:
        yield "answer", f"{seen.answer.tokens} tokens of {seen.answer.model} in {seen.answer.seconds:.2f} s"
    if not seen.last:
        return
    yield "speculation", _speculation(seen)
    yield "since start", _since_start(seen)
    if (evidence := seen.evidence) is not None and not evidence.restarted and not seen.several:
        yield from _window(seen, evidence)


def _speculation(seen: Seen) -> str:
    every = seen.last.values()
    if not any(each.speculative for each in every):
        return "off"
    positions = max(len(each.accepted_per_position) for each in every)
    return f"on, K {positions}" if positions else "on"


def _since_start(seen: Seen) -> str:
    every = seen.last.values()
    drafts, drafted = (sum(getattr(each, name) for each in every) for name in ("drafts", "draft_tokens"))
    accepted = sum(each.accepted_tokens for each in every)
    tokens = f"{sum(each.generation_tokens for each in every):.0f} tokens generated"
    return f"{tokens}, acceptance {_acceptance(accepted, drafted, drafts)}" if drafted and drafts else tokens


def _acceptance(accepted: float, drafted: float, drafts: float) -> str:
    return f"{accepted / drafted:.2f}, {1 + accepted / drafts:.2f} tokens per step"


def _window(seen: Seen, evidence: Evidence) -> Iterator[tuple[str, str]]:
    yield "window", f"{evidence.seconds:.0f} s, {evidence.generation_tokens:.0f} tokens, {evidence.answers:.0f} answers"
    if evidence.drafts and evidence.draft_tokens:
        yield "acceptance", _acceptance(evidence.accepted_tokens, evidence.draft_tokens, evidence.drafts)
        yield "by position", ", ".join(f"{each / evidence.drafts:.2f}" for each in evidence.accepted_per_position)
        if evidence.drafted_share is not None:
            yield "steps", f"{100 * evidence.drafted_share:.0f} % of the steps had a draft"
        if len(parts := seen.by_engine) > 1:
            yield "by engine", ", ".join(f"{name}: {_rate(each)}" for name, each in parts.items())
    if (seconds := evidence.token_time.times.mean) is not None:
        yield "time", f"{1000 * seconds:.1f} ms per output token"
    yield from _load(seen, evidence)


def _rate(evidence: Evidence) -> str:
    return "-" if evidence.acceptance_rate is None else f"{evidence.acceptance_rate:.2f}"


def _load(seen: Seen, evidence: Evidence) -> Iterator[tuple[str, str]]:
    every = [each for reading in seen.readings for each in reading.engines.values()]
    running, waiting = (mean_by([getattr(each, name) for each in every]) for name in ("running", "waiting"))
    if running is not None and waiting is not None:
        yield "requests", f"{running:.1f} running and {waiting:.1f} waiting per engine on average"
    cache, side = evidence.kv_cache, evidence.side
    if cache and cache.used is not None:
        size = f" of {cache.tokens} tokens" if cache.tokens else ""
        yield "KV cache", f"at most {100 * cache.used:.0f} %{size} in use"
    if side.cache_queries:
        yield "prefix cache", f"{100 * (side.cache_hits or 0.0) / side.cache_queries:.0f} % of the prompt tokens found"
    if side.preemptions is not None:
        yield "preemptions", f"{side.preemptions:.0f}"


def verdict(found: tuple[EndpointFinding, ...]) -> str:
    """How much there is to do."""
    fix = sum(each.to_fix for each in found)
    return f"{f'{fix} to fix' if fix else 'nothing to fix'}, {len(found) - fix} to check"


def document(seen: Seen, found: tuple[EndpointFinding, ...]) -> dict[str, Any]:
    """What was seen and found, for programs: shares from 0 to 1, times in seconds."""
    evidence = None if seen.several else seen.evidence
    return {
        "url": seen.url,
        "version": seen.version or None,
        "models": [asdict(each) for each in seen.models],
        "engines": [*seen.last],
        "answer": asdict(seen.answer) if seen.answer else None,
        "speculating": any(each.speculative for each in seen.last.values()) if seen.last else None,
        "window": None if evidence is None else _figures(evidence),
        "seen": dict(rows(seen)),
        "findings": [asdict(each) for each in found],
        "toFix": sum(each.to_fix for each in found),
    }


def _figures(evidence: Evidence) -> dict[str, Any]:
    return {
        "seconds": evidence.seconds,
        "restarted": evidence.restarted,
        "generatedTokens": evidence.generation_tokens,
        "drafts": evidence.drafts,
        "draftTokens": evidence.draft_tokens,
        "acceptedTokens": evidence.accepted_tokens,
        "acceptanceRate": evidence.acceptance_rate,
        "acceptanceLength": evidence.acceptance_length,
        "acceptedPerPosition": list(evidence.accepted_per_position),
        "timePerOutputToken": evidence.token_time.times.mean,
        "kvCacheUsed": evidence.kv_cache.used if evidence.kv_cache else None,
        "preemptions": evidence.side.preemptions,
    }
