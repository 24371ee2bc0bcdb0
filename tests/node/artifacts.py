"""The stores of the tests' artifacts: an S3 store with accounts for it, Modelcars of the tiny models, and volumes."""

import pathlib
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass

from hack import push_model
from hack.cluster import images as node
from hack.cluster import kubectl, paths, record, volumes
from hack.images import build, content, delivery, tool

from tests.node import s3
from tests.wire.api import Api, Object

ACCOUNT = "puller"
STRANGER = "stranger"
_REGION = "us-east-1"
_BY_HAND = "by-hand"
_ROOT = pathlib.Path(__file__).parents[2]
_RECIPES = content.Sources(files=("hack/images/modelcar.py", "docs/staging.md"))
_DOCKERFILE = re.compile(r"```dockerfile\n(.*?)```", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Modelcars:
    """The names of the images: one model each, and both in one."""

    target: str
    draft: str
    pair: str


def modelcars(models: pathlib.Path) -> Modelcars:
    """Makes the images and puts them onto the node if the node lacks them. The code of `make push-model` makes two, the
    Dockerfile in docs/staging.md makes the draft's.
    """
    tag = f"{models.name}-{content.digest(_RECIPES)}"
    made = Modelcars(
        target=f"localhost/tiny-target:{tag}", draft=f"localhost/tiny-draft:{tag}", pair=f"localhost/tiny:{tag}"
    )
    if not node.has(made.target):
        push_model.make(models / "target", made.target, {"--node"})
    if not node.has(made.draft):
        _by_hand(models / "draft", made.draft)
    if not node.has(made.pair):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("target", "draft"):
                shutil.copytree(models / name, pathlib.Path(folder) / name)
            push_model.make(pathlib.Path(folder), made.pair, {"--node"})
    return made


def _by_hand(model: pathlib.Path, ref: str) -> None:
    """Builds an image as the documentation describes it, but on a base image that is available here."""
    builder = tool.choose()
    found = _DOCKERFILE.search((_ROOT / "docs" / "staging.md").read_text())
    assert found is not None
    public = build.PUBLIC.partition("@")[0]
    assert public in found[1]
    recipe = found[1].replace(public, build.foundation(builder))
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(model, pathlib.Path(folder) / "model")
        (pathlib.Path(folder) / "Dockerfile").write_text(recipe)
        subprocess.run(builder.build("Dockerfile", None, ref, {}), cwd=folder, check=True, capture_output=True)
    delivery.load(builder, ref)


async def let_in(api: Api, namespace: str, store: s3.Store) -> None:
    """Makes two accounts: one whose secret opens the store, and one with another secret key."""
    for account, key in ((ACCOUNT, store.secret_key), (STRANGER, "x" * 40)):
        await api.apply(("v1", "secrets"), namespace, _secret(account, store, key))
        meta = {"name": account}
        body = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta, "secrets": [{"name": f"{account}-s3"}]}
        await api.apply(("v1", "serviceaccounts"), namespace, body)


def job_environment(store: s3.Store) -> list[Object]:
    """The same for a download by the operator's Job, which takes an environment."""
    secret = {name: {"secretKeyRef": {"name": f"{ACCOUNT}-s3", "key": name}} for name in _keys(store, "")}
    return [
        {"name": "AWS_ENDPOINT_URL", "value": store.url},
        {"name": "AWS_DEFAULT_REGION", "value": _REGION},
        *({"name": name, "valueFrom": source} for name, source in secret.items()),
    ]


def _keys(store: s3.Store, secret_key: str) -> dict[str, str]:
    return {"AWS_ACCESS_KEY_ID": store.access_key, "AWS_SECRET_ACCESS_KEY": secret_key}


def _secret(account: str, store: s3.Store, secret_key: str) -> Object:
    """A secret as KServe reads it: keys in the data, everything else in annotations."""
    said = {"s3-endpoint": store.address, "s3-usehttps": "0", "s3-region": _REGION}
    annotations = {f"serving.kserve.io/{name}": value for name, value in said.items()}
    meta = {"name": f"{account}-s3", "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "stringData": _keys(store, secret_key)}


def provide(claim: str, namespace: str) -> str | None:
    """Make a volume for a PVC that another component will create, and return the storage class that it must name.

    kind has a class that makes volumes by itself, and it is the default: then None, and nothing is made.
    """
    known = record.read(paths.layout())
    if known is None or known.driver is record.ClusterDriver.KIND:
        return None
    folder = paths.layout().run / "claims" / f"{namespace}-{claim}"
    folder.mkdir(parents=True)
    folder.chmod(0o777)  # no plug-in gives a folder of the machine to the pod's group
    made = room(folder, claim, namespace)
    kubectl.apply(kubectl.config(), [made], paths.layout().conf / f"{made['metadata']['name']}.json")
    return _BY_HAND


def room(folder: pathlib.Path, claim: str, namespace: str) -> Object:
    """Return a writable volume for one PVC of a namespace."""
    bound = {"namespace": namespace, "name": claim}
    shared = {"accessModes": ["ReadWriteOnce"], "storageClassName": _BY_HAND}
    return volumes.volume(f"{namespace}-{claim}", folder, claimRef=bound, **shared)
