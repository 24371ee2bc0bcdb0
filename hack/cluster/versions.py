"""Versions of what the local cluster is made of. The Go programs are pinned again, by hash, in their go.sum."""

from collections.abc import Mapping

KUBERNETES = "1.34.4"
ETCD = "3.6.4"
CONTAINERD = "2.2.3"  # 2.2.8 needs Go 1.25, 2.3 needs Go 1.26
METRICS_SERVER = "0.8.0"  # 0.9 needs Go 1.26
GO_MINIMUM = (1, 24)

# The kind path only.
KIND = "0.30.0"
KIND_NODE_IMAGE = "kindest/node:v1.34.0"
HELM = "4.3.1"
CERT_MANAGER = "1.17.0"
KSERVE = "0.20.0"

_MAJOR, _MINOR, _ = KUBERNETES.split(".")
KUBERNETES_STAMPS = {
    "k8s.io/component-base/version.gitVersion": f"v{KUBERNETES}",
    "k8s.io/component-base/version.gitMajor": _MAJOR,
    "k8s.io/component-base/version.gitMinor": _MINOR,
    "k8s.io/client-go/pkg/version.gitVersion": f"v{KUBERNETES}",
}
CONTAINERD_STAMPS = {"github.com/containerd/containerd/v2/version.Version": CONTAINERD}
METRICS_SERVER_STAMPS = {"sigs.k8s.io/metrics-server/pkg/version.gitVersion": f"v{METRICS_SERVER}"}


def linker_flags(stamps: Mapping[str, str]) -> str:
    """Stamp the version: a plain build of Kubernetes calls itself v0.0.0-master, which clients refuse to parse."""
    return " ".join(["-s", "-w", *(f"-X {name}={value}" for name, value in stamps.items())])
