"""The next step that the status recommends to the user."""

from datetime import UTC, datetime

import pytest

from specdec_operator.display.next_step import steps
from specdec_operator.display.untrusted import Untrusted

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("QuotaExceeded", "Raise the ResourceQuota"),
        ("Unschedulable", "Make room on a node"),
        ("SchedulingGated", "scheduling gate"),
        ("PodRefused", "Change the policy"),
    ],
)
def test_pods_that_are_not_admitted_have_a_fix(reason: str, words: str) -> None:
    """By the reason of Reconciling; the Events have the cluster's message."""
    condition = {"type": "Reconciling", "status": "True", "reason": reason, "message": "as the cluster says"}
    meta = {"name": "llama", "namespace": "team-a", "generation": 1}
    status = {"observedGeneration": 1, "phase": "RollingOut", "conditions": [condition]}
    (step,) = steps(Untrusted({"metadata": meta, "spec": {}, "status": status}), NOW)
    assert words in step.words
    assert step.command == "kubectl get events -n team-a --field-selector involvedObject.name=llama"


def test_the_best_k_at_each_load_is_a_line_for_the_spec() -> None:
    """As it is written there, with the reason."""
    rows = [{"upTo": 4, "tokens": 4}, {"tokens": 2}]
    advice = {"tokens": 4, "tokensByBatchSize": rows, "message": "with up to 8 running requests 2 tokens are faster"}
    meta = {"name": "llama", "namespace": "team-a", "generation": 1}
    status = {"observedGeneration": 1, "phase": "Watching", "guard": {"recommendation": advice}}
    words = [each.words for each in steps(Untrusted({"metadata": meta, "spec": {}, "status": status}), NOW)]
    line = 'Set spec.speculation.tokensByBatchSize to [{"upTo": 4, "tokens": 4}, {"tokens": 2}]: with up to 8 running '
    assert f"{line}requests 2 tokens are faster." in words
    done = {"speculation": {"tokens": 4, "tokensByBatchSize": rows}}
    words = [each.words for each in steps(Untrusted({"metadata": meta, "spec": done, "status": status}), NOW)]
    assert not [each for each in words if "tokensByBatchSize" in each]
