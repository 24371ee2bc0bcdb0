"""The operator's own configuration, and its own metrics."""

import pytest

from specdec_operator.errors import OperatorError
from specdec_operator.settings import Settings, read_settings


def test_nothing_needs_to_be_set() -> None:
    """An empty environment is the default, and the defaults are those of the fields."""
    assert read_settings({}) == Settings()


def test_what_is_set_is_read() -> None:
    """Empty names of namespaces are left out."""
    environ = {"SPECDEC_NAMESPACES": "a,,b", "SPECDEC_METRICS_PORT": "9", "SPECDEC_LOG_LEVEL": "debug"}
    assert read_settings(environ) == Settings(namespaces=("a", "b"), metrics_port=9, log_level="DEBUG")


def test_runtimes_are_named_by_their_accelerators() -> None:
    """A name that is not an accelerator would leave a service without its runtime."""
    names = (("cpu", "specdec-cpu-1"), ("nvidia", "mine"))
    assert read_settings({"SPECDEC_RUNTIMES": "cpu=specdec-cpu-1, nvidia=mine"}).runtimes == names
    for wrong in ("gpu=specdec-gpu", "cpu", "cpu="):
        with pytest.raises(OperatorError, match=f"SPECDEC_RUNTIMES='{wrong}': write accelerator=name"):
            read_settings({"SPECDEC_RUNTIMES": wrong})


def test_a_setting_that_cannot_be_read_is_named() -> None:
    """With its value and what to write instead."""
    with pytest.raises(OperatorError, match=r"SPECDEC_HEALTH_PORT='http': write a whole number, such as 8080"):
        read_settings({"SPECDEC_HEALTH_PORT": "http"})
