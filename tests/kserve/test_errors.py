"""KServe's errors when it makes no Deployment: the reasons and messages that the operator passes on."""

import pytest

from specdec_operator.observe.inference_service import KServeError, kserve_error
from tests.kserve.made import Place
from tests.kserve.services import runtime, service
from tests.wire.api import Object


def without_server() -> Object:
    """A runtime whose container has another name than KServe asks for."""
    found = runtime("mine")
    found["spec"]["containers"][0]["name"] = "server"
    return found


def disabled() -> Object:
    """A runtime that its owner has switched off."""
    found = runtime("mine")
    found["spec"]["disabled"] = True
    return found


SAID = {
    "RuntimeNotRecognized": ("Waiting for runtime to become available", None, service(model={"runtime": "absent"})),
    "NoSupportingRuntime": (
        "Specified runtime does not support specified framework/version",
        None,
        service(model={"modelFormat": {"name": "nope"}}),
    ),
    "InvalidPredictorSpec": (
        "failed to find kserve-container in ServingRuntime containers",
        without_server(),
        service(model={"runtime": "mine"}),
    ),
    "RuntimeDisabled": ("disabled", disabled(), service(model={"runtime": "mine"})),
}
"""By reason: KServe's message, a runtime of the namespace if one is needed, and the InferenceService."""


@pytest.mark.parametrize("reason", SAID)
async def test_the_reason_is_in_the_model_status(place: Place, reason: str) -> None:
    """And the operator reads it there."""
    words, given, asked = SAID[reason]
    if given is not None:
        await place.give(given)
    await place.apply(asked)
    seen: list[KServeError] = []

    def told(isvc: Object) -> bool:
        if found := kserve_error(isvc):
            seen.append(found)
        return bool(seen)

    await place.until_isvc("asked", f"reason {reason}", told)
    assert seen[0].reason == reason
    assert words in seen[0].message
