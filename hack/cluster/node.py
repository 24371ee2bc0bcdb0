"""Configuration and command lines of the node: containerd, the pod network and kubelet. Pure."""

import json
import pathlib
from collections.abc import Mapping

from hack.cluster import netns
from hack.cluster.controlplane import FEATURE_GATES
from hack.cluster.paths import Layout
from hack.cluster.pki import NODE_NAME

PAUSE_IMAGE = "localhost/specdec-pause:1"
BRIDGE = "specdec0"
CNI_PLUGINS = pathlib.Path("/usr/lib/cni")

Binaries = Mapping[str, pathlib.Path]


def containerd(layout: Layout, binaries: Binaries) -> list[str]:
    """The container runtime; runc, which it calls, is the distribution's."""
    return [str(binaries["containerd"]), f"--config={layout.conf / 'containerd.toml'}"]


def containerd_config(layout: Layout, binaries: Binaries, filesystem: str) -> str:
    """Images under a folder that stays, everything else under one that goes."""
    # In a container the cache may itself lie on an overlay, which cannot carry another: copy, then.
    snapshotter = "native" if filesystem == "overlay" else "overlayfs"
    return f"""version = 3
root = "{layout.images}"
state = "{layout.run / "containerd"}"
[grpc]
  address = "{layout.socket}"
[plugins."io.containerd.cri.v1.images"]
  snapshotter = "{snapshotter}"
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = "{PAUSE_IMAGE}"
# What `ctr` imports is unpacked where pods look for it.
[[plugins."io.containerd.transfer.v1.local".unpack_config]]
  platform = "linux"
  snapshotter = "{snapshotter}"
[plugins."io.containerd.cri.v1.runtime"]
  # Without CAP_SYS_RESOURCE a lower score is refused, and runc dies with "can't get final child's PID".
  restrict_oom_score_adj = true
  # Pod network namespaces are mounted under `state`, where `down` finds them.
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["{CNI_PLUGINS}"]
    conf_dir = "{layout.conf / "cni"}"
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    # A distribution's shim may come first on PATH, and does not understand this containerd.
    runtime_path = "{binaries["containerd-shim-runc-v2"]}"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
      SystemdCgroup = false
# Its socket would lie in a folder of the machine.
[plugins."io.containerd.nri.v1.nri"]
  disable = true
[plugins."io.containerd.internal.v1.opt"]
  path = "{layout.run / "opt"}"
"""


def cni_config(layout: Layout) -> str:
    """One bridge, no masquerading: there is nowhere to go."""
    bridge = {
        "type": "bridge",
        "bridge": BRIDGE,
        "isGateway": True,
        "ipMasq": False,
        "hairpinMode": True,
        "ipam": {
            "type": "host-local",
            "dataDir": str(layout.run / "leases"),
            "ranges": [[{"subnet": netns.PODS}]],
            "routes": [{"dst": "0.0.0.0/0"}],
        },
    }
    ports = {"type": "portmap", "capabilities": {"portMappings": True}}
    return json.dumps({"cniVersion": "0.4.0", "name": layout.name, "plugins": [bridge, ports]}, indent=2)


def kubelet(layout: Layout, binaries: Binaries) -> list[str]:
    """The node agent."""
    return [
        str(binaries["kubelet"]),
        f"--config={layout.conf / 'kubelet.yaml'}",
        f"--kubeconfig={layout.run / 'kubeconfig.node'}",
        f"--hostname-override={NODE_NAME}",
        f"--node-ip={netns.NODE}",
        f"--root-dir={layout.run / 'kubelet'}",
    ]


def kubelet_config(layout: Layout) -> dict[str, object]:
    """A kubelet that keeps its hands off the machine: own cgroup, own folders, no image collection."""
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": False},
            "x509": {"clientCAFile": str(layout.pki / "ca.crt")},
            "webhook": {"enabled": True},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(layout.pki / "node.crt"),
        "tlsPrivateKeyFile": str(layout.pki / "node.key"),
        "containerRuntimeEndpoint": f"unix://{layout.socket}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{layout.name}",
        "failCgroupV1": False,
        "failSwapOn": False,
        "featureGates": dict.fromkeys(FEATURE_GATES, True),
        "oomScoreAdj": 0,
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        # There is no DNS. Nobody listens at the node's port 53, so a look-up fails at once and does not hang.
        "clusterDNS": [netns.NODE],
        "clusterDomain": "cluster.local",
        "resolvConf": "",
        "volumePluginDir": str(layout.run / "kubelet-plugins"),
        "podLogsDir": str(layout.run / "pod-logs"),
    }
