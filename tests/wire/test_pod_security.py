"""Namespaces that enforce Pod Security's level `restricted`: the API server's own admission takes our download's pods.

tests/kserve has the pods of services.
"""

import copy
import json
import uuid
from typing import Any

import pytest

from specdec_operator.api.spec import Owner
from specdec_operator.downloads.job import job_manifest
from specdec_operator.staging.layout import Download
from tests.wire.api import POD, SIS, Api, Object, Refused
from tests.wire.faults.table import Part, fault

CLAIM, HUB = "pvc://models/llama", "hf://org/llama:main"
LEVEL = "pod-security.kubernetes.io/enforce"
OWNER = Owner(name="llama", namespace="team-a", uid="u-1")
REFUSED = r'violates PodSecurity "restricted:latest".*'


def download_pod() -> Object:
    """The pod of a download Job."""
    download = Download(name="target", uri=HUB, key="0123456789abcdef")
    words: dict[str, Any] = {"claim": "llama-models", "staging": {}, "pod": {}, "keep": (), "attempt": 1}
    template: Object = job_manifest(OWNER, download, image="i", **words)["spec"]["template"]
    return {"metadata": template["metadata"] | {"name": "llama-target"}, "spec": template["spec"]}


def bare(pod: Object) -> Object:
    """The pod without the security settings of its spec and its containers."""
    pod = copy.deepcopy(pod)
    for part in (pod["spec"], *pod["spec"]["containers"]):
        part.pop("securityContext", None)
    return pod


@pytest.fixture
async def restricted(api: Api) -> str:
    """A namespace that enforces the level."""
    name = f"restricted-{uuid.uuid4().hex[:8]}"
    await api.call("post", "/api/v1/namespaces", {"metadata": {"name": name, "labels": {LEVEL: "restricted"}}})
    return name


async def admitted(api: Api, namespace: str, pod: Object) -> None:
    """Asks the API server for the pod, which then is not made. Raises Refused."""
    await api.call("post", api.path(POD, namespace), pod, query_params=[("dryRun", "All")])


MORE = {
    "spec.pod.volumes[0]": {"volumes": [{"name": "host", "hostPath": {"path": "/"}}]},
    "spec.pod.securityContext.runAsUser": {"securityContext": {"runAsUser": 0}},
    "spec.pod.securityContext.runAsNonRoot": {"securityContext": {"runAsNonRoot": False}},
    "sysctls": {"securityContext": {"sysctls": [{"name": "kernel.shm_rmid_forced", "value": "1"}]}},
    "hostNetwork": {"hostNetwork": True},
}
IN_ENGINE = {
    "spec.engine.securityContext.runAsUser": {"runAsUser": 0},
    "spec.engine.securityContext.allowPrivilegeEscalation": {"allowPrivilegeEscalation": True},
    "spec.engine.securityContext.capabilities.drop": {"capabilities": {"drop": ["NET_RAW"]}},
    "add": {"capabilities": {"drop": ["ALL"], "add": ["SYS_ADMIN"]}},
    "privileged": {"privileged": True},
    "procMount": {"procMount": "Unmasked"},
}


@pytest.mark.parametrize("validation", ["Strict", "Ignore"])
@pytest.mark.parametrize("field", [*MORE, *IN_ENGINE])
async def test_a_tenant_cannot_ask_for_more_than_the_level_allows(api: Api, field: str, validation: str) -> None:
    """The API server refuses the field, or drops it where its client wants it so; nothing of it is ever rendered."""
    parts: Object = {"pod": MORE[field]} if field in MORE else {"engine": {"securityContext": IN_ENGINE[field]}}
    spec = {"model": {"uri": CLAIM}, **parts}
    body = {"apiVersion": SIS[0], "kind": "SpeculativeInferenceService", "metadata": {"name": "asked"}, "spec": spec}
    words = [("dryRun", "All"), ("fieldValidation", validation)]
    try:
        kept = await api.call("post", api.path(SIS, "default"), body, query_params=words)
    except Refused as refused:
        assert field in str(refused)  # noqa: PT017 - whether it is refused depends on the field
        return
    assert validation == "Ignore"
    assert f'"{field}"' not in json.dumps(kept["spec"])


@fault(
    part=Part.CLUSTER,
    when="Pod Security `restricted`",
    then="pods of our runtimes and of downloads are admitted",
)
async def test_the_pod_of_a_download_is_admitted(api: Api, restricted: str) -> None:
    """Without its security settings it is refused."""
    await admitted(api, restricted, download_pod())
    with pytest.raises(Refused, match=REFUSED):
        await admitted(api, restricted, bare(download_pod()))
