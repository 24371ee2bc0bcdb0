"""The operator's own Prometheus metrics, behind verbs. Series of a deleted sis are removed."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from prometheus_client import Counter, Gauge, Histogram, start_http_server

from specdec_operator.control.findings import Findings
from specdec_operator.control.wakeups import Key
from specdec_operator.guard.state import Phase

_SIS: Final = ("namespace", "name")

_RATE = Gauge("specdec_acceptance_rate", "Accepted / drafted tokens in the last measured window.", _SIS)
_LENGTH = Gauge("specdec_acceptance_length", "1 + accepted tokens / drafts in the last measured window.", _SIS)
_SPEEDUP = Gauge("specdec_speedup", "Plain time per output token / that with speculation, at the same load.", _SIS)
_WOULD = Gauge("specdec_would_act", "1 while the guard would have acted, were it free to: Observe, or held.", _SIS)
_PHASE = Gauge("specdec_phase", "1 for the guard's present phase, 0 for the others.", (*_SIS, "phase"))
_FAILURES = Gauge("specdec_failing_windows", "Failing windows in a row.", _SIS)
_SPECULATING = Gauge("specdec_speculating", "1 while the pods are asked to speculate.", _SIS)
_ROLLBACKS = Gauge("specdec_rollbacks", "Rollbacks so far, as kept in the status.", _SIS)
_SILENT = Gauge("specdec_pods_without_metrics", "Pods that did not answer with metrics at the last look.", _SIS)
_TURN = Histogram("specdec_turn_seconds", "Duration of one turn of the loop.")
_FAILED_TURNS = Counter("specdec_turn_failures", "Turns that failed and are tried again.", ("reason",))

_PER_SIS: Final = (_RATE, _LENGTH, _SPEEDUP, _WOULD, _FAILURES, _SPECULATING, _ROLLBACKS, _SILENT)


def serve(port: int) -> None:
    """Serves /metrics from a thread of its own."""
    start_http_server(port)


@contextmanager
def turn_timed() -> Iterator[None]:
    """Times one turn."""
    with _TURN.time():
        yield


def turn_failed(reason: str) -> None:
    """Counts a turn that failed."""
    _FAILED_TURNS.labels(reason).inc()


def observe(key: Key, found: Findings, *, silent: int) -> None:
    """Shows what one turn found."""
    _SILENT.labels(*key).set(silent)
    state, judged = found.state, found.judged
    evidence = judged.evidence if judged else None
    for phase in Phase:
        _PHASE.labels(*key, phase.value).set(phase is state.phase)
    _FAILURES.labels(*key).set(state.failures)
    _ROLLBACKS.labels(*key).set(state.rollbacks)
    _SPECULATING.labels(*key).set(found.plan.speculation is not None)
    if evidence is not None and evidence.acceptance_rate is not None and evidence.acceptance_length is not None:
        _RATE.labels(*key).set(evidence.acceptance_rate)
        _LENGTH.labels(*key).set(evidence.acceptance_length)
    if judged is not None and judged.comparison is not None:
        _SPEEDUP.labels(*key).set(judged.comparison.speedup)
    would = found.state.would
    _WOULD.labels(*key).set(would is not None)


def forget(key: Key) -> None:
    """Removes the series of a deleted sis."""
    for metric in _PER_SIS:
        metric.remove_by_labels({"namespace": key[0], "name": key[1]})
    _PHASE.remove_by_labels({"namespace": key[0], "name": key[1]})
