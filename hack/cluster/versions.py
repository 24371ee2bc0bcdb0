"""Versions of what the local cluster is made of. The Go programs are pinned again, by hash, in go/go.sum."""

KUBERNETES = "1.34.4"
ETCD = "3.6.4"
GO_MINIMUM = (1, 24)

# The kind path only.
KIND = "0.30.0"
KIND_NODE_IMAGE = "kindest/node:v1.34.0"
HELM = "4.3.1"
CERT_MANAGER = "1.17.0"
KSERVE = "0.20.0"

_MAJOR, _MINOR, _ = KUBERNETES.split(".")
_STAMPS = {
    "k8s.io/component-base/version.gitVersion": f"v{KUBERNETES}",
    "k8s.io/component-base/version.gitMajor": _MAJOR,
    "k8s.io/component-base/version.gitMinor": _MINOR,
    "k8s.io/client-go/pkg/version.gitVersion": f"v{KUBERNETES}",
}


def linker_flags() -> str:
    """Stamp the version: a plain build calls itself v0.0.0-master, which clients refuse to parse."""
    return " ".join(["-s", "-w", *(f"-X {name}={value}" for name, value in _STAMPS.items())])
