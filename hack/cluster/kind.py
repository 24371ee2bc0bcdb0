"""The cluster where a container engine runs: kind, and the real KServe from its Helm charts."""

import os
import pathlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import yaml

from hack.cluster import binaries, paths, shell, teardown, versions
from hack.cluster.errors import ClusterError
from hack.cluster.paths import ClusterLayout

NAME = "specdec"
_NODE = f"{NAME}-control-plane"
_TOOLS = {"kind": f"sigs.k8s.io/kind@v{versions.KIND}", "helm": f"helm.sh/helm/v4/cmd/helm@v{versions.HELM}"}
_PATIENCE = "10m"
_CONFIG = "kind.yaml"
_JETSTACK, _KSERVE = "oci://quay.io/jetstack/charts", "oci://ghcr.io/kserve/charts"
_STANDARD = (
    "kserve.controller.deploymentMode=Standard",
    "kserve.controller.gateway.disableIngressCreation=true",
    "kserve.controller.gateway.disableIstioVirtualHost=true",
)
# Helm release -> namespace, chart, version, settings
_CHARTS = {
    "cert-manager": ("cert-manager", f"{_JETSTACK}/cert-manager", f"v{versions.CERT_MANAGER}", ("crds.enabled=true",)),
    "kserve-crd": ("kserve", f"{_KSERVE}/kserve-crd", f"v{versions.KSERVE}", ()),
    "kserve-resources": ("kserve", f"{_KSERVE}/kserve-resources", f"v{versions.KSERVE}", _STANDARD),
}


def tool(name: str, say: Callable[[str], None] = print) -> pathlib.Path:
    """Return kind or helm, of exactly the pinned version, after building it where it is missing."""
    target = paths.cache() / "bin" / _TOOLS[name].rpartition("@")[2] / name
    if not target.exists():
        binaries.require_go()
        say(f"building {name} ({_TOOLS[name]})")
        environment = os.environ | {"GOBIN": str(target.parent), "CGO_ENABLED": "0"}
        shell.run(["go", "install", _TOOLS[name]], timeout=1800, env=environment)
    return target


def environment() -> dict[str, str]:
    """The environment for kind. If podman is the only engine, kind needs a variable for it."""
    extra = {"KIND_EXPERIMENTAL_PROVIDER": "podman"} if shell.container_engine() == "podman" else {}
    return os.environ | extra


def config(cache: pathlib.Path) -> dict[str, Any]:
    """One node that sees the cache folder under its own path: a hostPath means the same on both sides."""
    mount = {"hostPath": str(cache), "containerPath": str(cache), "readOnly": True}
    node = {"role": "control-plane", "image": versions.KIND_NODE_IMAGE, "extraMounts": [mount]}
    return {"kind": "Cluster", "apiVersion": "kind.x-k8s.io/v1alpha4", "name": NAME, "nodes": [node]}


def create(program: pathlib.Path, file: pathlib.Path, kubeconfig: pathlib.Path) -> list[str]:
    """Make the cluster and wait for its node."""
    flags = [f"--config={file}", f"--kubeconfig={kubeconfig}", "--wait=180s"]
    return [str(program), "create", "cluster", f"--name={NAME}", *flags]


def delete(program: pathlib.Path, kubeconfig: pathlib.Path) -> list[str]:
    """Remove the cluster; harmless where there is none."""
    return [str(program), "delete", "cluster", f"--name={NAME}", f"--kubeconfig={kubeconfig}"]


def load_archive(archive: pathlib.Path) -> list[str]:
    """Put an image archive onto the node."""
    return [str(tool("kind")), "load", "image-archive", str(archive), f"--name={NAME}"]


def on_node(*words: str) -> list[str]:
    """Run a command on the node, which is itself a container."""
    return [shell.container_engine() or "docker", "exec", _NODE, *words]


def charts(helm: pathlib.Path, kubeconfig: pathlib.Path) -> list[list[str]]:
    """The Helm commands: cert-manager for the webhooks, then KServe in Standard mode without an ingress."""
    common = [f"--kubeconfig={kubeconfig}", "--create-namespace", "--wait", f"--timeout={_PATIENCE}"]
    return [
        [
            *(str(helm), "upgrade", "--install", release, chart),
            *(f"--namespace={namespace}", f"--version={version}"),
            *common,
            *(f"--set={each}" for each in settings),
        ]
        for release, (namespace, chart, version, settings) in _CHARTS.items()
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class KindCluster:
    """Runs those commands for one layout."""

    layout: ClusterLayout
    say: Callable[[str], None]

    def begun(self) -> bool:
        """Return whether a start of this kind was ever begun."""
        return (self.layout.conf / _CONFIG).exists()

    def fetch_tools(self) -> None:
        """Build kind, helm and kubectl."""
        for name in _TOOLS:
            tool(name, self.say)
        binaries.ensure("kubectl", say=self.say)

    def take_down(self) -> None:
        """Remove the cluster, finished or not."""
        shell.run(delete(tool("kind", self.say), self.layout.kubeconfig), timeout=300, env=environment())
        teardown.remove_run(self.layout)

    def start(self) -> None:
        """Make the cluster."""
        self.layout.conf.mkdir(parents=True, exist_ok=True)
        file = self.layout.conf / _CONFIG
        file.write_text(yaml.safe_dump(config(paths.cache())))
        shell.run(create(tool("kind", self.say), file, self.layout.kubeconfig), timeout=900, env=environment())

    def install_kserve(self) -> None:
        """Install the charts, in order; each waits until what it made is ready."""
        for command in charts(tool("helm", self.say), self.layout.kubeconfig):
            try:
                shell.run(command, timeout=900)
            except ClusterError as failure:
                raise ClusterError(f"KServe {versions.KSERVE} could not be installed: {failure}") from failure
