"""What a policed cluster refuses with 403: a quota, a webhook, a policy and a LimitRange, each real."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.webhook import refusing
from tests.wire.api import ISVC, Object
from tests.wire.faults.table import Part, fault
from tests.wire.operator import OperatorProcess
from tests.wire.world import World, sis

_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
_COUNT = "count/inferenceservices.serving.kserve.io"


@asynccontextmanager
async def quota(world: World) -> AsyncIterator[str]:
    """No InferenceService more. The status is played: the quota controller does not run here."""
    spec = {"hard": {_COUNT: "0"}}
    made = {"metadata": {"name": "none"}, "spec": spec}
    where = ("v1", "resourcequotas")
    await world.api.create(where, world.namespace, made)
    status = {"status": {**spec, "used": {_COUNT: "0"}}}
    await world.api.merge(where, world.namespace, "none", status, "status")
    yield "exceeded quota: none"
    await world.api.delete(where, world.namespace, "none")


@asynccontextmanager
async def policy(world: World, operation: str = "CREATE", allows: str = "false") -> AsyncIterator[str]:
    """No InferenceService, or only a change that an expression allows, by a rule of the cluster's."""
    name = f"no-services-{world.namespace}"
    rule = {"apiGroups": ["serving.kserve.io"], "apiVersions": ["*"], "operations": [operation]}
    matches = {"resourceRules": [{**rule, "resources": ["inferenceservices"]}]}
    refusal = {"expression": allows, "message": "none on a Friday", "reason": "Forbidden"}
    spec: Object = {"matchConstraints": matches, "validations": [refusal], "failurePolicy": "Fail"}
    await world.api.call(
        "post", f"{_ADMISSION}/validatingadmissionpolicies", {"metadata": {"name": name}, "spec": spec}
    )
    here = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": world.namespace}}}
    binding: Object = {"policyName": name, "validationActions": ["Deny"], "matchResources": here}
    body = {"metadata": {"name": name}, "spec": binding}
    await world.api.call("post", f"{_ADMISSION}/validatingadmissionpolicybindings", body)
    await asyncio.sleep(2)  # the API server compiles it
    yield "denied request: none on a Friday"
    await world.api.call("delete", f"{_ADMISSION}/validatingadmissionpolicybindings/{name}")
    await world.api.call("delete", f"{_ADMISSION}/validatingadmissionpolicies/{name}")


@asynccontextmanager
async def webhook(world: World) -> AsyncIterator[str]:
    """No InferenceService, by a program."""
    async with refusing(world.api, world.namespace, "serving.kserve.io", "inferenceservices") as words:
        yield words


@fault(
    part=Part.CLUSTER,
    when="a quota, a webhook or a ValidatingAdmissionPolicy refuses the InferenceService",
    then="Stalled (QuotaExceeded, AdmissionRefused) with the message; a retry after 30 s or five minutes",
)
@pytest.mark.parametrize(
    ("refuses", "reason"), [(quota, "QuotaExceeded"), (webhook, "AdmissionRefused"), (policy, "AdmissionRefused")]
)
async def test_a_denial_is_reported_by_its_name(
    world: World, operator: OperatorProcess, refuses: type, reason: str
) -> None:
    """The message names no missing permission, and the operator waits before its next try."""
    async with refuses(world) as words:
        await world.apply(sis())
        said = await world.told("Stalled", reason, words)
        assert "rbac" not in said["message"]
        before = await operator.metric("specdec_api_errors_total")
        await asyncio.sleep(15)
        assert await operator.metric("specdec_api_errors_total") == before
        assert await world.api.get(ISVC, world.namespace, "llama") is None
    if reason == "QuotaExceeded":
        await world.child(speculative=True)
