"""The number of pods, what one of them generates, and how many are needed: with speculation, and as baseline. Pure.

All of it is measured: tokens and time of each pod in the last window, and the speedup at the same load. Nothing is
computed for an acceptance that was not observed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any, Final

from specdec_operator.guard.judge import Judged
from specdec_operator.names import BASELINE_LABEL, OWNER_LABEL, STAGING_LABEL
from specdec_operator.report.conditions import Findings
from specdec_operator.schema.status import Scaling

_A_PART: Final = 0.02
"""Tolerance, in pods: a pod that was read a moment after the window began must not count as one more pod."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Yield:
    """What pods generated in a window. pods: their mean number. baseline: of one baseline pod, None if unknown;
    speedup, low, high: the values that this follows from, 1 for baseline pods themselves.
    """

    tokens_per_second: float
    pods: float
    speedup: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def baseline(self) -> float | None:
        """Tokens a second of one baseline pod with as many requests at once."""
        return self.tokens_per_second / self.speedup if self.speedup else None

    @property
    def needed(self) -> int:
        """Pods that generate as much as these."""
        return _whole(self.pods)

    @property
    def baseline_needed(self) -> int | None:
        """Baseline pods that generate as much as these."""
        return _whole(self.pods * self.speedup) if self.speedup else None


def _whole(pods: float) -> int:
    return max(1, ceil(pods - _A_PART))


def yield_of(judged: Judged | None, *, is_baseline: bool) -> Yield | None:
    """The yield in a window; None if the window does not show it. is_baseline: whether its pods did not speculate."""
    evidence = judged.evidence if judged else None
    if judged is None or evidence is None or evidence.pod_seconds <= 0 or evidence.generation_tokens <= 0:
        return None
    against = None if is_baseline else judged.comparison
    of_baseline = 1.0 if is_baseline else None
    return Yield(
        tokens_per_second=evidence.generation_tokens / evidence.pod_seconds,
        pods=evidence.pod_seconds / evidence.seconds,
        speedup=against.speedup if against else of_baseline,
        low=against.low if against else of_baseline,
        high=against.high if against else of_baseline,
    )


def counted(found: Findings, before: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of the status about the number of pods."""
    deployment = found.deployment
    return {
        "replicas": deployment.total if deployment else 0,
        "ready_replicas": deployment.ready if deployment else 0,
        "selector": None if found.plan.spec.guest else selector_of(found.name),
        "scaling": _scaling(found, before),
    }


def needed(status: Mapping[str, Any]) -> tuple[Any, Any]:
    """The numbers of needed pods in a status: in the current mode, and as baseline."""
    said = status.get("scaling") or {}
    return said.get("replicasNeeded"), said.get("plainReplicasNeeded")


def selector_of(name: str) -> str:
    """Label selector of the pods that serve, without downloads and baseline pods."""
    return f"{OWNER_LABEL}={name},!{STAGING_LABEL},!{BASELINE_LABEL}"


def _scaling(found: Findings, before: Mapping[str, Any]) -> Scaling | None:
    """The values of the last window. Without such a window, earlier values of the same pods are kept."""
    is_baseline = found.plan.speculation is None
    seen = yield_of(found.judged, is_baseline=is_baseline)
    if seen is None:
        same = (before.get("serving") or {}).get("revision") == found.revision
        kept = before.get("scaling") if same else None
        return Scaling.model_validate(kept) if kept else None
    return Scaling(
        tokens_per_second_per_pod=round(seen.tokens_per_second, 1),
        replicas_needed=seen.needed,
        plain_tokens_per_second_per_pod=None if seen.baseline is None else round(seen.baseline, 1),
        plain_replicas_needed=seen.baseline_needed,
        message=_words(seen, is_baseline=is_baseline),
    )


def _words(seen: Yield, *, is_baseline: bool) -> str:
    kind = "baseline pod" if is_baseline else "speculating pod"
    first = f"{_pods(seen.needed, kind)}, each {seen.tokens_per_second:.0f} tokens/s"
    if is_baseline:
        return f"{first}; with speculation: not measured now"
    if seen.baseline is None or seen.low is None or seen.high is None or seen.baseline_needed is None:
        return f"{first}; baseline: unknown at this load"
    least, most = _whole(seen.pods * seen.low), _whole(seen.pods * seen.high)
    between = f" ({least} to {most})" if least != most else ""
    return (
        f"{first}; without speculation {seen.baseline_needed}{between} pods would be needed, each {seen.baseline:.0f} "
        "tokens/s"
    )


def _pods(number: int, kind: str) -> str:
    return f"{number} {kind}{'' if number == 1 else 's'}"
