"""The PVC `models` of tests and the demo, bound to a folder of this machine."""

import hashlib
import pathlib
from typing import Any

from hack.cluster import kubectl, paths
from hack.cluster.errors import ClusterError

CLAIM = "models"
_SIZE = "10Gi"


def ensure_models(path: pathlib.Path, namespace: str) -> None:
    """Make namespace, volume and PVC. Many pods can read the PVC, and no pod can write it."""
    folder = path.resolve()
    if not folder.is_dir():
        raise ClusterError(f"{path} is not a folder: `python -m hack.models` makes one and prints its name")
    config = kubectl.config()
    _forget_other(config, folder, namespace)
    kubectl.apply(config, objects(folder, namespace), paths.layout().conf / f"{volume_name(folder, namespace)}.json")
    kubectl.wait(config, "wait", "--for=jsonpath={.status.phase}=Bound", f"pvc/{CLAIM}", f"--namespace={namespace}")


def volume_name(folder: pathlib.Path, namespace: str) -> str:
    """A volume never changes its folder, so another folder is another volume."""
    return f"{CLAIM}-{namespace}-{hashlib.sha256(str(folder).encode()).hexdigest()[:8]}"


def objects(folder: pathlib.Path, namespace: str) -> list[dict[str, Any]]:
    """Return namespace, volume and claim."""
    name = volume_name(folder, namespace)
    shared = {"accessModes": ["ReadOnlyMany"], "storageClassName": ""}
    claim = {**shared, "volumeName": name, "resources": {"requests": {"storage": _SIZE}}}
    meta = {"name": CLAIM, "namespace": namespace}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
        volume(name, folder, claimRef={"namespace": namespace, "name": CLAIM}, **shared),
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": claim},
    ]


def volume(name: str, folder: pathlib.Path, **more: Any) -> dict[str, Any]:
    """A volume of a folder of this machine. Only the removal of the cluster removes it."""
    spec = {"capacity": {"storage": _SIZE}, "hostPath": {"path": str(folder), "type": "Directory"}, **more}
    spec["persistentVolumeReclaimPolicy"] = "Retain"
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec}


def _forget_other(config: pathlib.Path, folder: pathlib.Path, namespace: str) -> None:
    """Remove a PVC on another folder, and its volume."""
    found = kubectl.get(config, f"pvc/{CLAIM}", f"--namespace={namespace}")
    other = found["spec"]["volumeName"] if found else None
    if other in (None, volume_name(folder, namespace)):
        return
    removed = kubectl.ask(config, "delete", f"pvc/{CLAIM}", f"--namespace={namespace}", "--timeout=20s", timeout=30)
    if removed.code != 0:
        raise ClusterError(
            f"claim {CLAIM} in namespace {namespace} is bound to {other}, and pods still use it: "
            f"delete those pods, then ask for {folder} again"
        )
    kubectl.ask(config, "delete", f"pv/{other}", "--timeout=20s", timeout=30)
