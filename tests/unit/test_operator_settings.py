"""The operator's own configuration, and its own metrics."""

import pytest
from prometheus_client import REGISTRY

from specdec_operator import metrics
from specdec_operator.errors import OperatorError
from specdec_operator.guard.state import Phase
from specdec_operator.settings import Settings, read_settings
from tests.unit.builders import found, judged, make_comparison, make_rollback, make_state, make_would


def test_nothing_needs_to_be_set() -> None:
    """An empty environment is the default, and the defaults are those of the fields."""
    assert read_settings({}) == Settings()


def test_what_is_set_is_read() -> None:
    """Empty names of namespaces are left out."""
    environ = {"SPECDEC_NAMESPACES": "a,,b", "SPECDEC_METRICS_PORT": "9", "SPECDEC_LOG_LEVEL": "debug"}
    assert read_settings(environ) == Settings(namespaces=("a", "b"), metrics_port=9, log_level="DEBUG")


def test_a_setting_that_cannot_be_read_is_named() -> None:
    """With its value and what to write instead."""
    with pytest.raises(OperatorError, match=r"SPECDEC_HEALTH_PORT='http': write a whole number, such as 8080"):
        read_settings({"SPECDEC_HEALTH_PORT": "http"})


SERIES = {"namespace": "metrics-test", "name": "x"}


def value(name: str, **labels: str) -> float | None:
    """What a scrape of the operator would show."""
    return REGISTRY.get_sample_value(name, SERIES | labels)


def test_a_sis_shows_its_phase_and_numbers_and_leaves_no_series_behind() -> None:
    """One phase is 1; a deleted sis is gone from the page."""
    key = (SERIES["namespace"], SERIES["name"])
    metrics.observe(
        key,
        found(make_state(failures=2, would=make_would()), judged=judged(comparison=make_comparison(1.25))),
        silent=1,
    )
    assert value("specdec_acceptance_rate") == pytest.approx(0.8)
    assert value("specdec_acceptance_length") == pytest.approx(4.2)
    assert (value("specdec_failing_windows"), value("specdec_pods_without_metrics")) == (2, 1)
    assert (value("specdec_speculating"), value("specdec_would_act")) == (1, 1)
    assert value("specdec_speedup") == 1.25
    metrics.observe(key, found(make_state(Phase.ROLLED_BACK, rollback=make_rollback(), rollbacks=3)), silent=0)
    phases = {phase: value("specdec_phase", phase=phase.value) for phase in Phase}
    assert [phase for phase, shown in phases.items() if shown] == [Phase.ROLLED_BACK]
    assert (value("specdec_rollbacks"), value("specdec_speculating"), value("specdec_would_act")) == (3, 0, 0)
    metrics.forget(key)
    for gone in ("acceptance_rate", "acceptance_length", "speedup", "would_act", "failing_windows", "rollbacks"):
        assert value(f"specdec_{gone}") is None
    assert value("specdec_phase", phase="RolledBack") is None
    metrics.forget(key)
