"""A store that speaks S3, in the local cluster: a pod with the tiny models in the bucket `models`.

It is reached by its address, because the single node has no DNS.
"""

import pathlib
from dataclasses import dataclass
from typing import Any

from hack import images
from hack.cluster import kubectl, paths, volumes

NAMESPACE = "s3"
BUCKET = "models"
PORT = 9000
_NAME = "s3"
_KEYS = {"S3_ACCESS_KEY": "AKIASPECDECTESTS0000", "S3_SECRET_KEY": "of-the-tests-and-of-nobody-else-00000000"}
_LABELS = {"app": _NAME}


@dataclass(frozen=True, kw_only=True, slots=True)
class Store:
    """The address of the store, and the keys that it accepts."""

    address: str
    access_key: str = _KEYS["S3_ACCESS_KEY"]
    secret_key: str = _KEYS["S3_SECRET_KEY"]

    @property
    def url(self) -> str:
        """The endpoint as S3 clients want it."""
        return f"http://{self.address}"


def ensure(models: pathlib.Path) -> Store:
    """Bring the store up with the models' folder in it, and wait until it serves. Safe to call again."""
    config = kubectl.config()
    volumes.ensure_models(models, NAMESPACE)
    kubectl.apply(config, objects(images.refs().s3, models), paths.layout().conf / "s3.json")
    kubectl.wait(config, "rollout", "status", f"deployment/{_NAME}", f"--namespace={NAMESPACE}")
    service = kubectl.get(config, f"service/{_NAME}", f"--namespace={NAMESPACE}") or {}
    return Store(address=f"{service['spec']['clusterIP']}:{PORT}")


def requests(method: str, path: str = "") -> int:
    """Return how many answered requests of a method the store has had below a path of the bucket."""
    words = ("logs", f"deployment/{_NAME}", f"--namespace={NAMESPACE}", "--tail=-1")
    told = kubectl.run(kubectl.config(), *words)
    return count(told, method, path)


def count(log: str, method: str, path: str) -> int:
    """Count the lines of successful requests in the store's log. A listing of the bucket is not counted."""
    wanted = f'"{method} /{BUCKET}/{path}'
    return sum(wanted in line and ('" 200 ' in line or '" 206 ' in line) for line in log.splitlines())


def objects(image: str, models: pathlib.Path) -> list[dict[str, Any]]:
    """Return Deployment and Service. Another folder is another template, so the store starts again with it."""
    container = {
        "name": _NAME,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "args": ["/models", BUCKET, str(PORT)],
        "env": [{"name": name, "value": value} for name, value in _KEYS.items()],
        "ports": [{"containerPort": PORT}],
        "readinessProbe": {"tcpSocket": {"port": PORT}, "periodSeconds": 1},
        "volumeMounts": [{"name": "models", "mountPath": "/models", "readOnly": True}],
        "resources": {"requests": {"cpu": "10m", "memory": "128Mi"}, "limits": {"memory": "1Gi"}},
    }
    volume = {"name": "models", "persistentVolumeClaim": {"claimName": volumes.CLAIM, "readOnly": True}}
    template = {
        "metadata": {"labels": _LABELS, "annotations": {"folder": models.name}},
        "spec": {"containers": [container], "volumes": [volume], "terminationGracePeriodSeconds": 1},
    }
    deployment = {"strategy": {"type": "Recreate"}, "selector": {"matchLabels": _LABELS}, "template": template}
    service = {"selector": _LABELS, "ports": [{"port": PORT, "targetPort": PORT}]}
    meta = {"name": _NAME, "namespace": NAMESPACE}
    return [
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": deployment},
        {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": service},
    ]
