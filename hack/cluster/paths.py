"""Where the cluster keeps things: below one cache folder outside the tree. `run/` dies with `down`."""

import hashlib
import os
import pathlib
import tempfile


def cache() -> pathlib.Path:
    """The cache folder, with symlinks resolved: mounts are listed by the kernel under their real path."""
    chosen = os.environ.get("SPECDEC_CACHE")
    return (pathlib.Path(chosen) if chosen else pathlib.Path.home() / ".cache" / "specdec-operator").resolve()


def scratch() -> tempfile.TemporaryDirectory[str]:
    """A folder for the length of a block. An engine image has gigabytes, more than many a /tmp."""
    folder = cache() / "images"
    folder.mkdir(parents=True, exist_ok=True)
    return tempfile.TemporaryDirectory(dir=folder)


class ClusterLayout:
    """The places of one cluster."""

    def __init__(self, *, root: pathlib.Path) -> None:
        self.root = root
        # What it is called in places shared with others: two caches are two clusters.
        self.name = f"specdec-{hashlib.sha256(str(root).encode()).hexdigest()[:8]}"
        self.log = root / "log"  # of the last start; kept by `down`
        self.images = root / "containerd"  # its store; kept by `down`, so that images are imported once
        self.run = root / "run"  # state of the running cluster: keys, etcd data, sockets, mounts; removed by `down`
        self.pki = self.run / "pki"  # keys and certificates
        self.conf = self.run / "conf"  # rendered configuration files
        self.processes = self.run / "processes"  # one identity file for each process
        self.namespace = self.run / "netns"  # the network namespace, held open as a mounted file
        self.socket = self.run / "containerd.sock"
        self.kubeconfig = self.run / "kubeconfig"  # for clients in the machine's own network namespace
        self.inner_kubeconfig = self.run / "kubeconfig.inner"  # for clients inside the cluster's
        self.record = self.run / "cluster.json"  # written last by `up`: where it is, the start is complete


def layout() -> ClusterLayout:
    """The layout of this machine's cluster."""
    return ClusterLayout(root=cache() / "cluster")
