"""The dial as a user sets it: its annotation, whether the pods follow, and which services can be tuned."""

from typing import Any

import pytest

from specdec_command.measure.benchmark import Unmeasurable
from specdec_command.tune import dial
from specdec_operator.display.untrusted import Untrusted
from specdec_operator.guard.dial import by_hand

NOW = 1_795_000_000.0


@pytest.mark.parametrize(
    ("value", "seconds", "why", "expected"),
    [
        ("off", None, "", "off"),
        ("2", None, "", "2"),
        ("off", 600.0, "", "off until 2026-11-18T11:16:40Z"),
        ("off", 600.0, "too\n slow\x1b", "off until 2026-11-18T11:16:40Z too slow"),
        ("reset", None, "", None),
    ],
)
def test_the_operator_reads_what_the_command_writes(
    value: str, seconds: float | None, why: str, expected: str | None
) -> None:
    """The same tokens, for as long."""
    text = dial.annotation(value, seconds, why, NOW)
    assert text == expected
    request, refused = by_hand(text, 4, NOW)
    assert not refused
    assert (request.tokens if request else None) == (None if value == "reset" else 0 if value == "off" else int(value))
    assert (request.until if request else None) == (seconds and NOW + seconds)


def showing(**status: Any) -> Untrusted:
    """A service with this status."""
    return Untrusted({"status": status})


@pytest.mark.parametrize(
    ("service", "value", "good"),
    [
        (showing(dial={"tokens": 0, "pods": 3, "inForce": 3, "message": "m"}), "off", True),
        (showing(dial={"tokens": 2, "pods": 3, "inForce": 3, "message": "m"}), "2", True),
        (showing(dial={"tokens": 2, "pods": 3, "inForce": 3, "message": "m"}), "off", None),
        (showing(dial={"tokens": 2, "tokensByBatchSize": [{"tokens": 2}], "pods": 3, "inForce": 3}), "2", None),
        (showing(dial={"tokens": 0, "pods": 3, "inForce": 2, "message": "m"}), "off", None),
        (showing(dial={"tokens": 0, "pods": 0, "inForce": 0, "message": "m"}), "off", None),
        (showing(), "off", None),
        (showing(dial={"reason": "Refused", "message": "m"}), "off", False),
        (showing(), "reset", True),
        (showing(dial={"pods": 3, "inForce": 3}), "reset", None),
        (showing(dial={"pods": "many", "inForce": []}), "off", None),
    ],
)
def test_it_is_done_when_every_pod_answers_so(service: Untrusted, value: str, good: bool | None) -> None:
    """A status that cannot be read ends nothing."""
    found = dial.ended(service, value)
    assert (found and found[0]) is good


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"model": {}, "speculation": {"method": "ngram"}}, ""),
        ({"inferenceServiceRef": {"name": "theirs"}}, ""),
        ({"model": {}}, "requests no speculation"),
        ({"deploymentRef": {"name": "theirs"}}, "pods of a Deployment"),
    ],
)
def test_a_spec_shows_that_no_pod_has_a_dial(spec: dict[str, Any], words: str) -> None:
    """A guest's own flags may ask for speculation."""
    found = dial.without_dial(Untrusted({"spec": spec}))
    assert words in found
    assert bool(words) is bool(found)


TUNABLE = {"spec": {"model": {}, "speculation": {"method": "ngram"}}, "metadata": {"name": "llama"}}


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"spec": {"model": {}}}, "requests no speculation"),
        ({"spec": {"inferenceServiceRef": {"name": "theirs"}}}, "its flags are its owner's"),
        ({"spec": {"deploymentRef": {"name": "theirs"}}}, "its flags are its owner's"),
        ({"spec": {"speculation": {}, "guard": {"dial": {"mode": "Off"}}}}, "requests no speculation"),
        ({"spec": TUNABLE["spec"] | {"guard": {"dial": {"mode": "Off"}}}}, "guard.dial.mode is Off"),
        ({"spec": {"speculation": {"tokensByBatchSize": [{"tokens": 2}]}}}, "remove them first"),
        ({"spec": TUNABLE["spec"] | {"guard": {"tokens": "Adapt"}}}, "set Recommend"),
        ({"status": {"guard": {"reduced": {"tokens": 2}}}}, "specdec retry llama"),
        ({"status": {"guard": {"control": {"replicas": 1}}}}, "baseline pods answer part"),
        ({"metadata": {"name": "llama", "annotations": {dial.DIAL_ANNOTATION: "off"}}}, "specdec dial llama reset"),
        ({"metadata": {"name": "llama", "annotations": {dial.DIAL_ANNOTATION: "of"}}}, "specdec dial llama reset"),
    ],
)
def test_a_service_whose_pods_cannot_be_turned_is_refused(parts: dict[str, Any], words: str) -> None:
    """With the reason and the way out."""
    with pytest.raises(Unmeasurable, match="cannot be tuned") as refused:
        dial.check_tunable(Untrusted(TUNABLE | parts), NOW)
    assert words in refused.value.message


def test_a_setting_that_has_ended_is_not_in_the_way() -> None:
    """It stays as an annotation, by hand or of a run that was killed."""
    left = {"name": "llama", "annotations": {dial.DIAL_ANNOTATION: dial.annotation("2", 60, dial.TUNING, NOW)}}
    with pytest.raises(Unmeasurable, match="its dial is set"):
        dial.check_tunable(Untrusted(TUNABLE | {"metadata": left}), NOW + 59)
    dial.check_tunable(Untrusted(TUNABLE | {"metadata": left}), NOW + 61)


@pytest.mark.parametrize("tokens", [None, 0, "many", 2.5, True])
def test_a_number_that_the_draft_decides_is_not_tuned(tokens: Any) -> None:
    """Nothing to lower is known then."""
    with pytest.raises(Unmeasurable, match="no number of draft tokens"):
        dial.requested_tokens(showing(serving={"tokens": tokens}))
    assert dial.requested_tokens(showing(serving={"tokens": 4})) == 4
