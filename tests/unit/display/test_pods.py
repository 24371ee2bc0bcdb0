"""How many pods a service has, in a line of `specdec status` and of the page."""

from datetime import UTC, datetime
from typing import Any

import pytest

from specdec_operator.display.facts import facts
from specdec_operator.display.untrusted import Untrusted
from specdec_operator.web.store import shown_of

NOW = datetime(2026, 11, 24, tzinfo=UTC)
SAID = "3 speculating pods, each 100 tokens/s; baseline: unknown at this load"


@pytest.mark.parametrize(
    ("autoscaling", "status", "line"),
    [
        (None, {"replicas": 3, "readyReplicas": 2}, "2 of 3 ready"),
        ({"maxReplicas": 4}, {"replicas": 1, "readyReplicas": 1}, "1 of 1 ready (hpa, 1 to 4)"),
        (
            {"autoscalerClass": "keda", "minReplicas": 0, "maxReplicas": 4},
            {"replicas": 0},
            "0 of 0 ready (keda, 0 to 4)",
        ),
        ({"autoscalerClass": "external"}, {"replicas": 2, "readyReplicas": 2}, "2 of 2 ready (external)"),
        (None, {"replicas": 3, "readyReplicas": 3, "scaling": {"message": SAID}}, f"3 of 3 ready; {SAID}"),
        (None, {}, ""),
    ],
)
def test_pods_are_shown_with_what_counts_them(autoscaling: Any, status: Any, line: str) -> None:
    spec = {"autoscaling": autoscaling} if autoscaling else {}
    assert facts(Untrusted({"spec": spec, "status": status}), NOW).get("pods", "") == line


def test_the_page_shows_an_autoscalers_numbers_and_no_query() -> None:
    """A query may have a key in it."""
    asked = {"autoscalerClass": "keda", "maxReplicas": 4, "metrics": [{"external": {"metric": {"query": "secret"}}}]}
    shown = shown_of({"metadata": {"name": "x"}, "spec": {"autoscaling": asked}})
    assert shown["spec"]["autoscaling"] == {"autoscalerClass": "keda", "maxReplicas": 4}
