"""The stand-in's rules about downloads, as far as no recording shows them."""

from __future__ import annotations

import base64
import json

import pytest
from tests.kserve_standin.around import around_of
from tests.kserve_standin.config import config_of
from tests.kserve_standin.containers import choose_container, with_container
from tests.kserve_standin.credentials import credentials
from tests.kserve_standin.model import Around, Config, Manifest, Refused
from tests.kserve_standin.oci import add_oci_sources

POD: Manifest = {"containers": [{"name": "kserve-container"}]}


def container(name: str, *prefixes: str, **fields: object) -> Manifest:
    """Return a ClusterStorageContainer for some prefixes."""
    formats = [{"prefix": prefix} for prefix in prefixes]
    return {"metadata": {"name": name}, "spec": {"container": {"name": "c"}, "supportedUriFormats": formats, **fields}}


def around(*keys: str, **data: str) -> Around:
    """Return an account with one secret, whose keys have values that nobody looks at unless they are given."""
    encoded = {
        key: base64.b64encode(value.encode()).decode() for key, value in (dict.fromkeys(keys, "x") | data).items()
    }
    account = {"metadata": {"name": "puller"}, "secrets": [{"name": "keys"}]}
    return Around(account=account, secrets={"keys": {"metadata": {"name": "keys"}, "data": encoded}})


def configured(**storage: object) -> Manifest:
    """Return KServe's ConfigMap with a storageInitializer part."""
    asked = {"cpuRequest": "1", "cpuLimit": "1", "memoryRequest": "1Gi", "memoryLimit": "1Gi"}
    return {"data": {"storageInitializer": json.dumps(asked | storage)}}


def test_two_containers_for_one_uri_are_refused_because_kserve_takes_either() -> None:
    """It lists them in random order at every look, and each change of mind rolls the pods."""
    both = [container("a", "s3://"), container("b", "s3://bucket/")]
    with pytest.raises(Refused, match="does not cover storage containers that serve the same URI"):
        choose_container("s3://bucket/x", None, both)
    assert choose_container("s3://other/x", None, both) == both[0]["spec"]
    assert choose_container("hf://o/m", None, both) is None


def test_a_disabled_container_does_not_count() -> None:
    """The other one is then the only one."""
    both = [container("a", "s3://") | {"disabled": True}, container("b", "s3://")]
    assert choose_container("s3://bucket/x", None, both) == both[1]["spec"]


def test_what_the_storage_container_says_of_a_variable_replaces_a_secret_and_a_value_alike() -> None:
    """A variable with both a value and a source would be refused by the API server."""
    source = {"secretKeyRef": {"name": "keys", "key": "k"}}
    initializer = {
        "name": "storage-initializer",
        "env": [{"name": "A", "valueFrom": source}, {"name": "B", "value": "1"}],
    }
    own = [{"name": "A", "value": "2"}, {"name": "B", "valueFrom": source}]
    merged = with_container(initializer, {"container": {"name": "c", "env": own}})
    assert merged == {"name": "c", "env": own}
    assert with_container(initializer, None) is initializer


def test_a_secret_counts_as_one_kind_only() -> None:
    """S3 keys and a token of Hugging Face belong in two secrets: in one, the token is not seen."""
    found = credentials(around("awsSecretAccessKey", "HF_TOKEN"), {}, Config())
    assert [item["name"] for item in found] == ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]
    assert [item["name"] for item in credentials(around("HF_TOKEN"), {}, Config())] == ["HF_TOKEN"]
    assert credentials(around("password"), {}, Config()) == []


@pytest.mark.parametrize("key", ["gcloud-application-credentials.json", "AZURE_CLIENT_ID", "https-host"])
def test_credentials_of_other_kinds_are_refused_by_name(key: str) -> None:
    """Nobody takes the stand-in's silence for KServe's behaviour."""
    with pytest.raises(Refused, match=rf"does not cover credentials of secret keys \({key}\)"):
        credentials(around(key), {}, Config())


def test_a_ca_bundle_is_refused_by_name() -> None:
    """KServe would mount a ConfigMap that it copies into the namespace."""
    with pytest.raises(Refused, match="does not cover a CA bundle"):
        credentials(around("awsSecretAccessKey", AWS_CA_BUNDLE_CONFIGMAP="mine"), {}, Config())
    with pytest.raises(Refused, match="does not cover caBundleConfigMapName"):
        config_of(configured(caBundleConfigMapName="mine"))


def test_the_default_of_an_endpoint_comes_from_the_configmap_and_the_secret_outweighs_it() -> None:
    """An administrator names the company's store once."""
    config = Config(s3_defaults={"s3Endpoint": "http://store.example", "s3Region": "eu-1"})
    found = credentials(around("awsSecretAccessKey", AWS_DEFAULT_REGION="eu-2"), {}, config)
    values = {item["name"]: item.get("value") for item in found}
    assert values["AWS_ENDPOINT_URL"] == "http://store.example"
    assert values["AWS_DEFAULT_REGION"] == "eu-2"


def test_without_a_configmap_the_configuration_is_that_of_the_recordings() -> None:
    """No uidModelcar among them; KServe's shipped ConfigMap has 1010."""
    assert config_of(None) == Config()
    assert config_of(None).modelcar_user is None
    assert config_of(configured(uidModelcar=1010)).modelcar_user == 1010


@pytest.mark.parametrize(
    ("storage", "mode"),
    [
        ({}, ""),
        ({"enableModelcar": True}, "modelcar"),
        ({"enableOciModelSupport": True}, "modelcar"),
        ({"ociModelMode": "native", "enableModelcar": True}, "native"),
    ],
)
def test_the_newest_switch_for_images_outweighs_the_older_ones(storage: Manifest, mode: str) -> None:
    """And without any, oci:// is off."""
    assert config_of(configured(**storage)).oci_mode == mode


def test_the_user_of_modelcars_replaces_the_servers_and_nothing_else_of_its_context() -> None:
    """The kernel lets only the same user follow a Modelcar's link."""
    server = {"name": "kserve-container", "securityContext": {"runAsUser": 65532, "runAsNonRoot": True}}
    uris = [{"uri": "oci://r/m:1", "mountPath": "/mnt/target/model"}]
    pod = add_oci_sources({"containers": [server]}, uris, Config(modelcar_user=1010))
    contexts = {item["name"]: item.get("securityContext") for item in (*pod["containers"], *pod["initContainers"])}
    assert contexts == {
        "kserve-container": {"runAsUser": 1010, "runAsNonRoot": True},
        "modelcar": {"runAsUser": 1010},
        "modelcar-init": None,
    }


def test_an_image_is_left_out_without_a_word_where_images_are_switched_off() -> None:
    """KServe serves a pod without its model then: what a mode of the operator's own must notice."""
    uris = [{"uri": "oci://r/m:1", "mountPath": "/mnt/target/model"}]
    assert add_oci_sources(POD, uris, Config(oci_mode="")) == POD


@pytest.mark.parametrize(
    ("predictor", "name"),
    [({}, "default"), ({"serviceAccountName": "puller"}, "puller"), ({"serviceAccountName": "absent"}, "")],
)
def test_the_account_is_the_pods_own_or_the_namespaces_default(predictor: Manifest, name: str) -> None:
    """One that is not there means no credentials, and no refusal."""
    accounts = [{"kind": "ServiceAccount", "metadata": {"name": each}} for each in ("default", "puller")]
    _, found = around_of({"spec": {"predictor": predictor}}, accounts)
    assert (found.account or {"metadata": {"name": ""}})["metadata"]["name"] == name
