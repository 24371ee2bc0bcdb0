"""Renders kubeconfig files. Keys are put inside, so that a file can be handed on by itself."""

import base64
import os
import pathlib

import yaml


def write(target: pathlib.Path, *, server: str, pki: pathlib.Path, who: str) -> None:
    """Write a kubeconfig for one of the certificates in `pki`; only its owner may read it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    text = yaml.safe_dump(render(server=server, pki=pki, who=who), sort_keys=False)
    with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as handle:
        handle.write(text)


def render(*, server: str, pki: pathlib.Path, who: str) -> dict[str, object]:
    """Return the kubeconfig of one client."""
    cluster = {"server": server, "certificate-authority-data": _encoded(pki / "ca.crt")}
    user = {
        "client-certificate-data": _encoded(pki / f"{who}.crt"),
        "client-key-data": _encoded(pki / f"{who}.key"),
    }
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "specdec", "cluster": cluster}],
        "users": [{"name": who, "user": user}],
        "contexts": [{"name": "specdec", "context": {"cluster": "specdec", "user": who}}],
        "current-context": "specdec",
    }


def _encoded(file: pathlib.Path) -> str:
    return base64.b64encode(file.read_bytes()).decode()
