"""Command lines of the control plane: etcd, API server, controllers, scheduler, service proxy. Pure."""

import pathlib
from collections.abc import Mapping

from hack.cluster import netns
from hack.cluster.paths import Layout
from hack.cluster.pki import NODE_NAME

API_PORT = 6443
# Image volumes: beta, and off by default before Kubernetes 1.35. API server and kubelet must agree.
FEATURE_GATES = ("ImageVolume",)
ETCD = "http://127.0.0.1:2379"
_ETCD_PEER = "http://127.0.0.1:2380"
_ISSUER = "https://kubernetes.default.svc"

Binaries = Mapping[str, pathlib.Path]


def etcd(layout: Layout, binaries: Binaries) -> list[str]:
    """The store. It lives as long as the cluster, so it need not wait for the disk."""
    return [
        str(binaries["etcd"]),
        f"--data-dir={layout.run / 'etcd'}",
        f"--listen-client-urls={ETCD}",
        f"--advertise-client-urls={ETCD}",
        f"--listen-peer-urls={_ETCD_PEER}",
        f"--initial-advertise-peer-urls={_ETCD_PEER}",
        f"--initial-cluster=default={_ETCD_PEER}",
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def apiserver(layout: Layout, binaries: Binaries) -> list[str]:
    """The API server, reached by the node's address from pods and through the forwarder from the machine."""
    pki = layout.pki
    return [
        str(binaries["kube-apiserver"]),
        f"--etcd-servers={ETCD}",
        f"--secure-port={API_PORT}",
        "--bind-address=0.0.0.0",
        f"--advertise-address={netns.NODE}",
        f"--tls-cert-file={pki / 'server.crt'}",
        f"--tls-private-key-file={pki / 'server.key'}",
        f"--client-ca-file={pki / 'ca.crt'}",
        f"--service-account-key-file={pki / 'accounts.pub'}",
        f"--service-account-signing-key-file={pki / 'accounts.key'}",
        f"--service-account-issuer={_ISSUER}",
        f"--service-cluster-ip-range={netns.SERVICES}",
        # Names cannot be resolved here: logs, exec and port-forward must go to the node's address.
        "--kubelet-preferred-address-types=InternalIP",
        f"--kubelet-certificate-authority={pki / 'ca.crt'}",
        f"--kubelet-client-certificate={pki / 'admin.crt'}",
        f"--kubelet-client-key={pki / 'admin.key'}",
        "--authorization-mode=Node,RBAC",
        "--allow-privileged=true",
        f"--feature-gates={','.join(f'{gate}=true' for gate in FEATURE_GATES)}",
        "--profiling=false",
    ]


def controller_manager(layout: Layout, binaries: Binaries) -> list[str]:
    """Every controller but the one that hands out pod ranges: the bridge's range is fixed."""
    return [
        str(binaries["kube-controller-manager"]),
        f"--kubeconfig={layout.inner_kubeconfig}",
        f"--service-account-private-key-file={layout.pki / 'accounts.key'}",
        f"--root-ca-file={layout.pki / 'ca.crt'}",
        "--use-service-account-credentials=true",
        "--leader-elect=false",
        "--controllers=*,-node-ipam-controller",
        "--pvclaimbinder-sync-period=1s",  # a claim that is seen before its volume would wait for fifteen
        "--kube-api-qps=100",
        "--kube-api-burst=200",
        "--profiling=false",
    ]


def scheduler(layout: Layout, binaries: Binaries) -> list[str]:
    """The scheduler."""
    return [
        str(binaries["kube-scheduler"]),
        f"--kubeconfig={layout.inner_kubeconfig}",
        "--leader-elect=false",
        "--profiling=false",
    ]


def proxy(layout: Layout, binaries: Binaries) -> list[str]:
    """The service proxy."""
    return [str(binaries["kube-proxy"]), f"--config={layout.conf / 'proxy.yaml'}"]


def proxy_config(layout: Layout) -> dict[str, object]:
    """Rewrite with iptables, and from the node's address.

    Two pods share one bridge: without masquerading, the answer would go straight back and miss the rewriting,
    unless the kernel has br_netfilter, which this must not rely on."""
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "iptables",
        "clientConnection": {"kubeconfig": str(layout.inner_kubeconfig)},
        "clusterCIDR": netns.PODS,
        "hostnameOverride": NODE_NAME,
        "iptables": {"masqueradeAll": True},
        # Zero leaves the machine-wide connection-tracking limits alone.
        "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
    }
