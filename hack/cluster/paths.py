"""Where the cluster keeps things: below one cache folder outside the tree. `run/` dies with `down`."""

import hashlib
import os
import pathlib
from dataclasses import dataclass


def cache() -> pathlib.Path:
    """The cache folder, with symlinks resolved: mounts are listed by the kernel under their real path."""
    chosen = os.environ.get("SPECDEC_CACHE")
    return (pathlib.Path(chosen) if chosen else pathlib.Path.home() / ".cache" / "specdec-operator").resolve()


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The folders of one cluster."""

    root: pathlib.Path

    @property
    def name(self) -> str:
        """What this cluster is called in places shared with others: two caches are two clusters."""
        return f"specdec-{hashlib.sha256(str(self.root).encode()).hexdigest()[:8]}"

    @property
    def run(self) -> pathlib.Path:
        """State of the running cluster: keys, etcd data, sockets, mounts. Removed by `down`."""
        return self.root / "run"

    @property
    def log(self) -> pathlib.Path:
        """Logs of the last start; kept by `down`."""
        return self.root / "log"

    @property
    def images(self) -> pathlib.Path:
        """containerd's store; kept by `down`, so that images are imported once."""
        return self.root / "containerd"

    @property
    def pki(self) -> pathlib.Path:
        """Keys and certificates."""
        return self.run / "pki"

    @property
    def conf(self) -> pathlib.Path:
        """Rendered configuration files."""
        return self.run / "conf"

    @property
    def processes(self) -> pathlib.Path:
        """One identity file for each process."""
        return self.run / "processes"

    @property
    def namespace(self) -> pathlib.Path:
        """The network namespace, held open as a mounted file."""
        return self.run / "netns"

    @property
    def socket(self) -> pathlib.Path:
        """containerd's socket."""
        return self.run / "containerd.sock"

    @property
    def kubeconfig(self) -> pathlib.Path:
        """For clients in the machine's own network namespace."""
        return self.run / "kubeconfig"

    @property
    def inner_kubeconfig(self) -> pathlib.Path:
        """For clients inside the cluster's network namespace."""
        return self.run / "kubeconfig.inner"

    @property
    def record(self) -> pathlib.Path:
        """Written last by `up`: its presence says that the start was completed."""
        return self.run / "cluster.json"


def layout() -> Layout:
    """The layout of this machine's cluster."""
    return Layout(root=cache() / "cluster")
