"""Which KServe a cluster has, from what KServe installs."""

import json
from typing import Any

import pytest

from specdec_operator.staging.kserve_detect import KServeEvidence, kserve_of

Body = dict[str, Any]


def crd(spec: tuple[str, ...] = (), predictor: tuple[str, ...] = ()) -> Body:
    inner = {name: {"type": "string"} for name in predictor}
    fields: Body = {name: {"type": "object"} for name in spec}
    fields["predictor"] = {"type": "object", "properties": inner}
    schema = {"openAPIV3Schema": {"properties": {"spec": {"properties": fields}}}}
    return {"spec": {"versions": [{"schema": schema}]}}


def controller(image: str) -> Body:
    """KServe's Deployment, with the container that is not its manager first."""
    containers = [{"name": "proxy", "image": "proxy:v9.9"}, {"name": "manager", "image": image}]
    return {"spec": {"template": {"spec": {"containers": containers}}}}


OLD = crd()
SINGLE = crd(predictor=("storageUris",))
NOW = crd(predictor=("storageUris", "storageContainerName"), spec=("canary",))
NEXT = crd(predictor=("storageUris", "storageContainerName"), spec=("canary", "tracing"))


@pytest.mark.parametrize(
    ("sighted", "version", "words"),
    [
        (KServeEvidence(), None, "do not have it"),
        (KServeEvidence(controller=controller("kserve/kserve-controller:v0.20.0"), crd=NOW), (0, 20), "v0.20.0"),
        (KServeEvidence(controller=controller("kserve/kserve-controller:v0.20.0")), (0, 20), "v0.20.0"),
        (
            KServeEvidence(controller=controller("registry:5000/kserve-controller:0.18.1-rc1"), crd=SINGLE),
            (0, 18),
            "0.18.1",
        ),
        (KServeEvidence(controller=controller("k:v0.20.0"), crd=SINGLE), (0, 19), "apply the newer CRD"),
        (KServeEvidence(controller=controller("k:v0.20.0"), crd=OLD), (0, 15), "apply the newer CRD"),
        (KServeEvidence(controller=controller("k:v0.23.0"), crd=NEXT), (0, 23), "v0.23.0"),
        (KServeEvidence(controller=controller("k@sha256:abc"), crd=NOW), (0, 20), "CRD is of 0.20"),
        (KServeEvidence(controller=controller("localhost:5000/k"), crd=NOW), (0, 20), "CRD is of 0.20"),
        (KServeEvidence(controller=controller("k:latest"), crd=NEXT), (0, 21), "0.21 or newer"),
        (KServeEvidence(crd=SINGLE), (0, 19), "0.19 or older"),
        (KServeEvidence(crd=OLD), (0, 15), "0.15 or older"),
        (KServeEvidence(crd={"spec": {"versions": [{"schema": {"openAPIV3Schema": {}}}]}}), None, "do not have it"),
        (KServeEvidence(controller=controller("k:v0.20.0"), crd=NOW, told="0.21"), (0, 21), "settings set it to 0.21"),
    ],
)
def test_the_version_is_read_where_it_shows(
    sighted: KServeEvidence, version: tuple[int, int] | None, words: str
) -> None:
    """The image's tag has it; a CRD that is older bounds it, because Helm leaves CRDs behind."""
    seen = kserve_of(sighted)
    assert seen.version == version
    assert words in seen.seen


@pytest.mark.parametrize(
    ("storage", "mode", "image"),
    [
        ({"enableModelcar": True, "image": "i:1"}, "modelcar", "i:1"),
        ({"enableOciModelSupport": True}, "modelcar", None),
        ({"enableModelcar": True, "ociModelMode": "native"}, "native", None),
        ({"enableModelcar": False}, "", None),
        ("{", None, None),
        (None, "", None),
    ],
)
def test_the_config_map_shows_how_images_are_served(storage: object, mode: str | None, image: str | None) -> None:
    """ociModelMode goes before the older switches; what cannot be read is not known."""
    data = {} if storage is None else {"storageInitializer": storage if storage == "{" else json.dumps(storage)}
    seen = kserve_of(KServeEvidence(config={"data": data}))
    assert (seen.oci_mode, seen.initializer) == (mode, image)


def container(prefix: str, image: str, **more: object) -> Body:
    return {"spec": {"container": {"image": image}, "supportedUriFormats": [{"prefix": prefix}], **more}}


@pytest.mark.parametrize(
    ("containers", "multi", "image"),
    [
        ([], True, None),
        ([container("s3://", "i:1", supportsMultiModelDownload=True)], True, "i:1"),
        ([container("s3://", "i:1")], False, "i:1"),
        ([container("custom://", "c:1"), container("hf://", "i:1", supportsMultiModelDownload=True)], True, "i:1"),
        ([container("hf://", "i:1", workloadType="localModelDownloadJob")], True, None),
    ],
)
def test_the_storage_containers_show_whether_two_uris_are_taken(
    containers: list[Body], multi: bool, image: str | None
) -> None:
    """KServe 0.17 shipped one that does not take them; one for another scheme does not matter for ours."""
    seen = kserve_of(KServeEvidence(containers={"items": containers}))
    assert (seen.multi_download, seen.initializer) == (multi, image)


def test_the_kubernetes_of_a_managed_cluster_has_a_plus() -> None:
    """`minor` is text there."""
    assert kserve_of(KServeEvidence(kubernetes={"major": "1", "minor": "34+"})).kubernetes == (1, 34)
