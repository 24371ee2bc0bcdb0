"""What the process itself shows of a decision: metrics, and lines of its log."""

import logging

from specdec_operator.names import Key
from specdec_operator.reconcile.decide import Decision
from specdec_operator.reconcile.describe import Report
from specdec_operator.reconcile.memory import ServiceMemory
from specdec_operator.report import service_metrics
from specdec_operator.report.status import SpecRefusal

_LOG = logging.getLogger(__name__)


def show(key: Key, decision: Decision | SpecRefusal, report: Report, memory: ServiceMemory) -> None:
    """Metrics, and one line of log for each change of phase."""
    if isinstance(decision, SpecRefusal) or report.findings is None:
        service_metrics.refuse(key)
        return
    silent = memory.silent if memory.window else 0
    service_metrics.observe(key, report.findings, report.status, silent=silent, stalled=report.refused)
    if (old := decision.before and decision.before.phase) is not decision.state.phase:
        words = (decision.state.phase, old or "-", report.findings.rollout.message)
        _LOG.info("service=%s/%s phase=%s was=%s rollout=%r", *key, *words)
