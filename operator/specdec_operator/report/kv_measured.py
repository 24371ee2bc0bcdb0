"""The observed KV cache of pods, compared with the planned one, and recommendations from it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any, Final

from specdec_engine.memory.explain import amount
from specdec_operator.guard.cache_use import WAYS_OUT, CacheReading, length_fall
from specdec_operator.guard.kv_cache import KvCache
from specdec_operator.guard.state import Phase
from specdec_operator.report.conditions import Findings

_STEP: Final = 0.05
"""Step of the share in use, as the status shows it: a smaller change does not cause a write."""
_FULL: Final = 0.95
_LITTLE_USED: Final = 0.25
_LONG: Final = 3600.0
"""Seconds of watching before a recommendation for a mostly free cache: a quiet minute proves nothing."""
_ROUNDING: Final = 0.0051
_ALL_TAKEN: Final = 0.98
_MORE_ROOM: Final = "set spec.memory.draftReserve to a share such as 8%; on a CPU raise the memory limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """None: unknown. tokens, baseline: tokens that the cache of a speculating pod and of a baseline pod holds.

    utilization, difference, used, requests are about the pods that serve now. utilization: the share of the device that
    the engine reports. difference: measured less predicted tokens, in percent of those predicted. used: the largest
    observed share of the cache in use. requests: number of requests of the maximum length that it holds at once.
    taken: largest observed use of the device, in bytes. recommendation: what to do if little or much is free, or if
    the acceptance falls while it fills. by_use: the newest window for each quarter of the cache in use.
    """

    tokens: int | None = None
    baseline: int | None = None
    utilization: float | None = None
    difference: int | None = None
    used: float | None = None
    requests: float | None = None
    taken: int | None = None
    recommendation: str | None = None
    by_use: tuple[CacheReading, ...] = ()


def measured(found: Findings, before: Mapping[str, Any], now: float) -> Measured:
    """The newest values: `baseline` is about the same service, `tokens` about the same speculation, the rest about the
    same pods. A value that no page shows stays as it was. before: the status.
    """
    memory = before.get("memory") or {}
    guard = before.get("guard") or {}
    of_service = memory if guard.get("service") == found.state.service else {}
    of_draft = of_service if guard.get("speculation") == found.state.speculation else {}
    of_pods = memory if (before.get("serving") or {}).get("revision") == found.revision else {}
    tokens, baseline = _tokens(found, of_draft.get("kvTokensMeasured"), of_service.get("kvTokensPlainMeasured"))
    seen = _present(found)
    used = None if seen.used is None else min(1.0, ceil(round(seen.used / _STEP, 6)) * _STEP)
    most = max((each for each in (used, of_pods.get("kvUsedMost")) if each is not None), default=None)
    utilization = seen.utilization or of_pods.get("utilizationMeasured")
    taken = _taken(found, of_pods.get("deviceUsed"))
    requests = of_pods.get("kvRequestsMeasured") if seen.requests is None else round(seen.requests, 1)
    by_use = _by_use(found, seen, of_pods)
    return Measured(
        tokens=tokens,
        baseline=baseline,
        utilization=utilization,
        difference=_difference(found, seen, of_pods),
        used=None if most is None else round(most, 2),
        requests=requests,
        taken=taken,
        recommendation="; ".join(
            (*_recommended(found, utilization, most, requests, now), *_headroom(found, taken), *_falls(by_use))
        )
        or None,
        by_use=by_use,
    )


def _by_use(found: Findings, seen: KvCache, before: Mapping[str, Any]) -> tuple[CacheReading, ...]:
    """The newest window for each quarter of the cache in use, the emptiest first."""
    kept = [
        CacheReading(
            used=each["used"],
            drafts=each["drafts"],
            draft_tokens=each["draftTokens"],
            accepted_tokens=each["acceptedTokens"],
        )
        for each in before.get("acceptanceByCacheUse") or ()
    ]
    known = {_quarter(each.used): each for each in kept}
    if found.judged is not None and seen.used is not None and found.judged.evidence.drafts > 0:
        evidence = found.judged.evidence
        known[_quarter(seen.used)] = CacheReading(
            used=seen.used,
            drafts=evidence.drafts,
            draft_tokens=evidence.draft_tokens,
            accepted_tokens=evidence.accepted_tokens,
        )
    return tuple(known[quarter] for quarter in sorted(known))


def _quarter(used: float) -> int:
    return min(3, int(4 * used))


def _falls(by_use: tuple[CacheReading, ...]) -> tuple[str, ...]:
    fall = length_fall(by_use)
    return (f"{fall.message}; {WAYS_OUT}",) if fall else ()


def _taken(found: Findings, before: int | None) -> int | None:
    """Bytes that were taken at most, in steps of a hundredth of the device."""
    step = (found.plan.memory.device.bytes or 0) // 100 or 1
    now = None if found.taken is None else -(-found.taken // step) * step
    return max((each for each in (now, before) if each is not None), default=None)


def _headroom(found: Findings, taken: int | None) -> tuple[str, ...]:
    device = found.plan.memory.device.bytes
    if not device or taken is None or taken < _ALL_TAKEN * device:
        return ()
    left = amount(max(0, device - taken))
    return (f"the device's memory is nearly full, {left} of {amount(device)} are free; {_MORE_ROOM}",)


def _present(found: Findings) -> KvCache:
    """The cache of the pods that are asked for now; a window that made the guard act is of those before."""
    if found.judged is None:
        return KvCache()
    evidence = found.judged.evidence
    about_these = evidence.speculative is (found.plan.speculation is not None)
    return (evidence.kv_cache if about_these else None) or KvCache()


def _tokens(found: Findings, ours: int | None, baseline: int | None) -> tuple[int | None, int | None]:
    """The tokens that the caches of speculating and of baseline pods hold. The first is None if the plan has no
    speculation.

    ours, baseline: the values of the earlier status.
    """
    if (judged := found.judged) is not None:
        seen = judged.evidence.kv_cache
        told = seen.tokens if seen else None
        compared = judged.pair.kv_cache if judged.pair else None
        if judged.evidence.speculative:
            ours, baseline = told or ours, (compared.tokens if compared else None) or baseline
        else:
            baseline = told or baseline
    return (None if found.plan.speculation is None else ours), baseline


def _difference(found: Findings, seen: KvCache, kept: Mapping[str, Any]) -> int | None:
    """Each rank has a cache of its own, and the plan is for one."""
    predicted: int | None = found.plan.memory.kv_tokens
    if not predicted:
        return None
    if seen.tokens is not None:
        return round(100 * (seen.tokens / seen.ranks - predicted) / predicted)
    same = kept.get("kvTokensPredicted") == predicted
    return kept.get("kvTokensDifferencePercent") if same else None


def _recommended(
    found: Findings, utilization: float | None, used: float | None, requests: float | None, now: float
) -> tuple[str, ...]:
    asked, said = found.plan.memory.utilization, []
    if utilization is not None and asked is not None and abs(utilization - asked) > _ROUNDING:
        said.append(
            f"the engine reports a memory share of {utilization:g}, and the operator requested {asked:g}: an argument "
            "of the runtime or of spec.engine.args overrides it"
        )
    if requests is not None and requests < 2:
        ways = "lower spec.engine.maxModelLen, or take a smaller draft or an 8-bit KV cache"
        said.append(f"the KV cache is nearly too small: it holds {requests:g} requests of the maximum length; {ways}")
    elif used is not None and used >= _FULL:
        ways = "add replicas or devices, lower spec.engine.maxNumSeqs, or take a smaller draft"
        said.append(f"the KV cache is nearly full: {100 * used:.0f} % was in use; {ways}")
    elif used and used <= _LITTLE_USED and _watched_long(found, now):
        ways = "a larger draft, longer requests or more concurrent requests fit"
        said.append(f"the KV cache is mostly free: at most {100 * used:.0f} % was in use; {ways}")
    return tuple(said)


def _watched_long(found: Findings, now: float) -> bool:
    return found.state.phase is Phase.WATCHING and now - found.state.since >= _LONG
