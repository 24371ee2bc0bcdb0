"""Keys, certificates and kubeconfigs of one cluster, made by openssl and thrown away by `down`."""

import base64
import os
import pathlib

import yaml

from hack.cluster import netns, shell

_NAMES = "DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc"
_SERVER = f"{_NAMES},IP:127.0.0.1,IP:{netns.NODE},IP:{netns.API_SERVICE}"
NODE_NAME = "specdec-node"

# file name -> (subject, extensions)
CERTIFICATES = {
    "server": ("/CN=kube-apiserver", {"subjectAltName": _SERVER, "extendedKeyUsage": "serverAuth"}),
    "metrics-server": (
        "/CN=metrics-server",
        {"subjectAltName": "DNS:metrics-server.kube-system.svc", "extendedKeyUsage": "serverAuth"},
    ),
    "admin": ("/O=system:masters/CN=admin", {"extendedKeyUsage": "clientAuth"}),
    "node": (
        f"/O=system:nodes/CN=system:node:{NODE_NAME}",
        {
            "subjectAltName": f"DNS:{NODE_NAME},IP:{netns.NODE},IP:127.0.0.1",
            "extendedKeyUsage": "clientAuth,serverAuth",
        },
    ),
}
FRONT_PROXY = ("/CN=front-proxy", {"extendedKeyUsage": "clientAuth"})
"""What the API server shows to the servers of further APIs. It has an authority of its own, because a certificate of
that authority lets its holder act as any user.
"""
# Python 3.13 checks certificates strictly: these may be left out nowhere.
_LEAF = {
    "basicConstraints": "critical,CA:FALSE",
    "keyUsage": "critical,digitalSignature",
    "subjectKeyIdentifier": "hash",
    "authorityKeyIdentifier": "keyid",
}
_AUTHORITY = ["-addext", "keyUsage=critical,keyCertSign,cRLSign,digitalSignature"]
_EC = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]


def create(folder: pathlib.Path) -> None:
    """Make both authorities, the certificates that they sign, and the key pair for service accounts."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    self_signed(folder, "ca", "/CN=specdec-cluster")
    for name, (subject, extensions) in CERTIFICATES.items():
        _signed(folder, name, subject, extensions)
    self_signed(folder, "front-proxy-ca", "/CN=specdec-front-proxy")
    _signed(folder, "front-proxy", *FRONT_PROXY, authority="front-proxy-ca")
    key = str(folder / "accounts.key")
    shell.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key])
    shell.run(["openssl", "ec", "-in", key, "-pubout", "-out", str(folder / "accounts.pub")])


def self_signed(folder: pathlib.Path, name: str, subject: str, *, names: str | None = None) -> None:
    """Make NAME.key and a certificate NAME.crt that vouches for itself."""
    argv = ["openssl", "req", "-x509", *_EC, *_AUTHORITY, "-days", "3650", "-subj", subject]
    argv += ["-addext", f"subjectAltName={names}"] if names else []
    shell.run([*argv, "-keyout", str(folder / f"{name}.key"), "-out", str(folder / f"{name}.crt")])


def _signed(
    folder: pathlib.Path, name: str, subject: str, extensions: dict[str, str], *, authority: str = "ca"
) -> None:
    key, request, certificate = (folder / f"{name}.{suffix}" for suffix in ("key", "csr", "crt"))
    extension_file = folder / f"{name}.ext"
    extension_file.write_text("".join(f"{field}={value}\n" for field, value in (_LEAF | extensions).items()))
    shell.run(["openssl", "req", "-new", *_EC, "-subj", subject, "-keyout", str(key), "-out", str(request)])
    by = ["-CA", str(folder / f"{authority}.crt"), "-CAkey", str(folder / f"{authority}.key"), "-CAcreateserial"]
    signing = ["openssl", "x509", "-req", "-in", str(request), *by, "-days", "3650"]
    shell.run([*signing, "-out", str(certificate), "-extfile", str(extension_file)])


def write_kubeconfig(target: pathlib.Path, *, server: str, pki: pathlib.Path, who: str) -> None:
    """Write a kubeconfig for one of the certificates in `pki`; its keys are inside, and only its owner may read it."""
    write_private(target, yaml.safe_dump(_kubeconfig(server=server, pki=pki, who=who), sort_keys=False))


def write_private(target: pathlib.Path, text: str) -> None:
    """Write a file that only its owner may read."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as handle:
        handle.write(text)


def _kubeconfig(*, server: str, pki: pathlib.Path, who: str) -> dict[str, object]:
    cluster = {"server": server, "certificate-authority-data": _encoded(pki / "ca.crt")}
    user = {"client-certificate-data": _encoded(pki / f"{who}.crt"), "client-key-data": _encoded(pki / f"{who}.key")}
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
