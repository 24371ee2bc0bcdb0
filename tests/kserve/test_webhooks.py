"""What KServe's webhooks refuse and add: a KServe without them takes all of it."""

import pytest

from tests.kserve.made import Place
from tests.kserve.services import BUCKET, HUB, service, sources
from tests.wire.api import Object, Refused

CLASS, MODE = "serving.kserve.io/autoscalerClass", "serving.kserve.io/deploymentMode"
APART = [{"uri": HUB, "mountPath": "/a/model"}, {"uri": BUCKET, "mountPath": "/b/model"}]
REFUSED = {
    "'MinReplicas' cannot be greater than MaxReplicas": service(minReplicas=3, maxReplicas=2),
    "[mine] is not a supported autoscaler class type": service(notes={CLASS: "mine"}),
    "[concurrency] is not a supported metric": service(notes={CLASS: "hpa"}, scaleMetric="concurrency"),
    "storage paths must have a common parent directory": service(storageUris=APART),
    "Setting both StorageURI and StorageURIs is not supported": service(
        model={"storageUri": HUB}, storageUris=sources(HUB, BUCKET)
    ),
}
LATER = {
    "unsupported deployment mode for workload: Nope": service(notes={MODE: "Nope"}),
    "does not support specified framework/version": service(model={"modelFormat": {"name": "nope"}}),
    "failed creating host name: invalid domain name": service("a" * 60),
}
"""The webhooks take these, and the controller does not."""


@pytest.mark.parametrize("words", REFUSED)
async def test_the_validating_webhook_refuses_it(place: Place, words: str) -> None:
    """The client that applies it gets the message: the operator reads it there, and no InferenceService is made."""
    with pytest.raises(Refused) as refused:
        await place.apply(REFUSED[words])
    assert "inferenceservice.kserve-webhook-server.validator" in str(refused.value)
    assert words in str(refused.value)


@pytest.mark.parametrize("words", LATER)
async def test_the_controller_refuses_it_after_the_webhooks_took_it(place: Place, words: str) -> None:
    """The InferenceService exists, KServe makes nothing of it, and an Event shows the reason."""
    assert words in await place.refusal(LATER[words])


@pytest.mark.parametrize(
    "found", [service(notes={CLASS: "hpa"}, minReplicas=0), service(storageUris=sources("ftp://a/b"))]
)
async def test_what_cannot_work_is_taken_all_the_same(place: Place, found: Object) -> None:
    """No pod with an HPA, and a scheme that no download knows."""
    assert (await place.apply(found))["metadata"]["generation"] == 1
