"""Command lines and configuration of the node's programs, out of node.yaml and containerd.toml. Pure."""

import pathlib
from collections.abc import Mapping
from string import Template
from typing import Any

import yaml

from hack.cluster import netns
from hack.cluster.paths import ClusterLayout
from hack.cluster.pki import NODE_NAME

API_PORT = 6443
METRICS_PORT = 4443
PAUSE_IMAGE = "localhost/specdec-pause:1"
CNI_PLUGINS = pathlib.Path("/usr/lib/cni")
_HERE = pathlib.Path(__file__).parent

Binaries = Mapping[str, pathlib.Path]


def command(name: str, layout: ClusterLayout, binaries: Binaries) -> list[str]:
    """The command line of a program."""
    return [str(binaries[name]), *_filled(_table()["commands"][name], _places(layout))]


def configuration(name: str, layout: ClusterLayout) -> dict[str, Any]:
    """The configuration of kube-proxy, kubelet or the pod network."""
    found: dict[str, Any] = _filled(_table()["configurations"][name], _places(layout))
    return found


def containerd_config(layout: ClusterLayout, binaries: Binaries, filesystem: str) -> str:
    """The container runtime's configuration."""
    # In a container the cache may itself lie on an overlay, which cannot carry another: copy, then.
    more = {"snapshotter": "native" if filesystem == "overlay" else "overlayfs", "pause": PAUSE_IMAGE}
    more |= {"cni_plugins": str(CNI_PLUGINS), "shim": str(binaries["containerd-shim-runc-v2"])}
    return Template((_HERE / "containerd.toml").read_text()).substitute(_places(layout) | more)


def _table() -> Any:
    return yaml.safe_load((_HERE / "node.yaml").read_text())


def _filled(value: Any, places: Mapping[str, str]) -> Any:
    match value:
        case str():
            return Template(value).substitute(places)
        case list():
            return [_filled(each, places) for each in value]
        case dict():
            return {key: _filled(each, places) for key, each in value.items()}
    return value


def _places(layout: ClusterLayout) -> dict[str, str]:
    names = ("name", "run", "pki", "conf", "images", "socket", "inner_kubeconfig")
    network = {"node": netns.NODE, "pods": netns.PODS, "services": netns.SERVICES, "api_port": str(API_PORT)}
    network["metrics_port"] = str(METRICS_PORT)
    return {name: str(getattr(layout, name)) for name in names} | network | {"node_name": NODE_NAME}
