"""KServe's own CRDs, of every version that can be had: recognised, and they know every field that is rendered."""

import functools

import pytest
from hack.kserve import module, objects
from hack.kserve.versions import SUMS

from specdec_command.validation import schema
from specdec_operator.staging.kserve_detect import KServeEvidence, kserve_of
from tests.kserve.layouts import ONCE, PAIRS, Json, isvc

VERSIONS = sorted(SUMS)


@functools.cache
def crd(version: str) -> Json:
    """The CRD of InferenceServices; KServe's program is not needed for it."""
    found = objects.definitions(module.objects_of(module.manifests(version)))
    return next(each for each in found if each["metadata"]["name"] == "inferenceservices.serving.kserve.io")


def schema_of(version: str) -> Json:
    """The CRD's schema of an InferenceService's spec."""
    (served,) = (each for each in crd(version)["spec"]["versions"] if each["name"] == "v1beta1")
    found: Json = served["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return found


@pytest.mark.parametrize("version", VERSIONS)
def test_it_is_recognised(version: str) -> None:
    """Without the controller's Deployment: a CRD bounds the version, and that of 0.20 is of 0.20."""
    major_minor = tuple(int(each) for each in version.split(".")[:2])
    assert kserve_of(KServeEvidence(crd=crd(version))).version == max(major_minor, (0, 19))


@pytest.mark.parametrize("version", VERSIONS)
def test_it_takes_every_mix(version: str) -> None:
    """Its schema knows every field that is rendered: an unknown one would be dropped without a word."""
    wanted = schema_of(version)
    for target, draft in PAIRS:
        for staging in (None, ONCE):
            if staging and any(each.startswith("oci") for each in (target, draft)):
                continue
            assert list(schema.problems(isvc(target, draft, staging)["spec"], wanted, "spec")) == []
    broken = isvc("hf", "s3")["spec"]
    broken["predictor"]["storageUris"][0] = {"uri": "hf://org/target", "path": "/mnt/target/model"}
    assert [each.path for each in schema.problems(broken, wanted, "spec")] == ["spec.predictor.storageUris[0].path"]
