"""KServe's downloads: which container makes them, with whose credentials."""

from tests.kserve.made import CONTAINERS, Place
from tests.kserve.services import BUCKET, HUB, account, initializer, secret, service, sources
from tests.wire.api import Object

TOKEN = {"HF_TOKEN": "t"}
KEYS = {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s"}


def container(name: str, prefix: str, **parts: object) -> Object:
    """A ClusterStorageContainer for URIs that no other test uses: every test sees it."""
    spec = {
        "container": {"name": "storage-initializer", "image": f"image-of-{name}"},
        "supportedUriFormats": [{"prefix": prefix}],
    }
    kind = {"apiVersion": "serving.kserve.io/v1alpha1", "kind": "ClusterStorageContainer"}
    return {**kind, "metadata": {"name": name}, "spec": spec | parts}


async def test_the_first_uri_chooses_the_container_for_all(place: Place) -> None:
    """This also holds if the first URI is a PVC, which needs no download; the default container is then not used."""
    name = place.namespace
    await place.give(container(name, f"pvc://{name}", supportsMultiModelDownload=True))
    one = (await place.make(service("one", storageUris=sources(f"pvc://{name}/a", HUB)))).pod
    other = (await place.make(service("other", storageUris=sources(HUB, f"pvc://{name}/a")))).pod
    images = [pod["initContainers"][0]["image"] for pod in (one, other)]
    assert images[0] == f"image-of-{name}"
    assert images[1] != images[0]
    await place.api.call("delete", f"{CONTAINERS}/{name}")


async def test_a_container_for_one_download_refuses_two(place: Place) -> None:
    """The whole service."""
    name = place.namespace
    await place.give(container(name, f"pvc://{name}"))
    words = await place.refusal(service(storageUris=sources(f"pvc://{name}/a", HUB)))
    assert "multi" in words.lower(), words
    await place.api.call("delete", f"{CONTAINERS}/{name}")


async def test_a_secret_counts_as_one_kind_only(place: Place) -> None:
    """With the keys of a bucket in it, its token is not seen."""
    await place.give(secret("both", TOKEN | KEYS), account("puller", "both"))
    env = initializer((await place.make(service(serviceAccountName="puller", storageUris=sources(HUB, BUCKET)))).pod)
    assert "AWS_ACCESS_KEY_ID" in env
    assert "HF_TOKEN" not in env


async def test_keys_under_other_names_than_the_configurations_are_ignored(place: Place) -> None:
    """KServe's shipped ConfigMap names AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."""
    await place.give(
        secret("keys", dict.fromkeys(("awsAccessKeyID", "awsSecretAccessKey"), "x")), account("puller", "keys")
    )
    pod = (await place.make(service(serviceAccountName="puller", storageUris=sources(BUCKET, HUB)))).pod
    assert not [name for name in initializer(pod) if name.startswith("AWS")]


async def test_a_missing_account_is_ignored(place: Place) -> None:
    """The Deployment is made; Kubernetes refuses its pods where it checks accounts."""
    made = await place.make(service(serviceAccountName="absent", storageUris=sources(HUB, BUCKET)))
    assert not initializer(made.pod).keys() & {"HF_TOKEN", *KEYS}


async def test_a_missing_secret_refuses_the_service_until_it_is_there(place: Place) -> None:
    """A retry finds it. KServe does not reconcile when a secret is created or changed."""
    await place.give(account("puller", "absent"))
    manifest = service(serviceAccountName="puller", storageUris=sources(HUB, BUCKET))
    assert 'secrets "absent" not found' in await place.refusal(manifest)
    await place.give(secret("absent", TOKEN))
    assert "HF_TOKEN" in initializer((await place.made("asked")).pod)


async def test_a_changed_secret_reaches_no_pod(place: Place) -> None:
    """Its names are read when the InferenceService is reconciled, and not before."""
    await place.give(secret("token", TOKEN), account("puller", "token"))
    before = await place.make(service(serviceAccountName="puller", storageUris=sources(HUB, BUCKET)))
    await place.give(secret("token", KEYS))
    found = await place.found("asked")
    assert found is not None
    assert found.template == before.template


async def test_the_user_of_modelcars_is_the_engines_too(place: Place) -> None:
    """`uidModelcar` of the shipped ConfigMap; `modelcar-init` keeps its image's."""
    pod = (await place.make(service(storageUris=sources("oci://registry.example/a:1", HUB)))).pod
    users = {each["name"]: each.get("securityContext", {}).get("runAsUser") for each in pod["containers"]}
    assert users == {"kserve-container": 1010, "modelcar": 1010}
    (init,) = [each for each in pod["initContainers"] if each["name"].startswith("modelcar")]
    assert "runAsUser" not in init.get("securityContext", {})


async def test_variables_of_the_storage_container_reach_the_download(place: Place) -> None:
    """A mirror of the hub, for one."""
    name = place.namespace
    mirror = {"name": "storage-initializer", "image": "i", "env": [{"name": "HF_ENDPOINT", "value": "https://hub"}]}
    await place.give(container(name, f"hf://{name}/", container=mirror, supportsMultiModelDownload=True))
    asked = service(storageUris=sources(f"hf://{name}/a", BUCKET), storageContainerName=name)
    assert initializer((await place.make(asked)).pod)["HF_ENDPOINT"] == "https://hub"
    await place.api.call("delete", f"{CONTAINERS}/{name}")
