"""The single node: the steps that start it. The options of each program are in node.py."""

import functools
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import yaml

from hack.cluster import (
    binaries,
    cgroups,
    containers,
    forward,
    kubectl,
    netns,
    node,
    packages,
    pki,
    process,
    shell,
    teardown,
)
from hack.cluster.paths import ClusterLayout
from hack.cluster.pki import NODE_NAME

PREFERRED_PORT = 26443
_READY = '{.status.conditions[?(@.type=="Ready")].status}'
Steps = Mapping[str, Callable[[], object]]
"""The lines of `up`: what each is called, and what it does."""
# Every process of a running node, in the order in which they start.
COMPONENTS = (
    "forward",
    "etcd",
    "kube-apiserver",
    "containerd",
    "kube-controller-manager",
    "kube-scheduler",
    "kube-proxy",
    "kubelet",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleNode:
    """Starts the node of one layout."""

    layout: ClusterLayout
    say: Callable[[str], None]

    def steps(self) -> Steps:
        """All steps from nothing to a node that takes pods. A missing Go is reported before anything runs."""
        return {
            "packages": lambda: packages.ensure(self.say),
            "programs": self._programs,
            "clean up": lambda: teardown.take_down(self.layout),
            "network namespace": self.make_network,
            "certificates": lambda: pki.create(self.layout.pki),
            "control plane": self.start_control_plane,
            "node": self.start_node,
        }

    def make_network(self) -> None:
        """Make the namespaces and groups that everything else starts in."""
        for folder in (self.layout.run, self.layout.log, self.layout.images):
            folder.mkdir(parents=True, exist_ok=True)
        for file in self.layout.log.glob("*.log"):
            file.unlink()
        netns.create(self.layout.namespace)
        cgroups.create(self.layout.name)

    def start_control_plane(self) -> None:
        """Start etcd and the API server, and containerd beside them: it has time to load its images."""
        programs = self._programs()
        port = self._forward()
        self._write_configuration(port, programs)
        self._start(programs, "etcd", "kube-apiserver", "containerd")
        process.until(
            "answer from the API server",
            lambda: kubectl.api_ready(port, self.layout.pki / "ca.crt"),
            layout=self.layout,
            needs=("etcd", "kube-apiserver", "forward"),
            timeout=shell.PATIENCE,
        )

    def start_node(self) -> None:
        """Start the controllers and kubelet, and wait until pods can run."""
        programs = self._programs()
        self._start(programs, "kube-controller-manager", "kube-scheduler", "kube-proxy")
        self._prepare_containerd(programs)
        self._start(programs, "kubelet")
        process.until(
            "node that is Ready",
            self._takes_pods,
            layout=self.layout,
            needs=("kubelet", "containerd", "kube-apiserver", "kube-controller-manager"),
            timeout=shell.PATIENCE,
        )

    def _takes_pods(self) -> bool:
        """Until namespace default has its account, the API server refuses pods there."""
        ask = functools.partial(kubectl.ask, self.layout.kubeconfig, "get")
        return (
            ask(f"node/{NODE_NAME}", f"-o=jsonpath={_READY}").out == "True"
            and ask("serviceaccount/default", "--namespace=default").code == 0
        )

    def _prepare_containerd(self, programs: node.Binaries) -> None:
        """Drop containers of an earlier run that was cut short, and bring in the sandbox image."""
        self._await_containerd()
        if containers.purge(self.layout):
            # The CRI part keeps its own list in memory and would go on reporting what is gone.
            process.stop([process.recall_all(self.layout.processes)["containerd"]], grace=5.0)
            self._start(programs, "containerd")
            self._await_containerd()
        if node.PAUSE_IMAGE not in containers.image_names(self.layout):
            archive = containers.pause_archive(programs["pause"], node.PAUSE_IMAGE, self.layout.run / "pause.tar")
            containers.load(self.layout, archive)

    def _programs(self) -> node.Binaries:
        return binaries.ensure(*binaries.PROGRAMS, say=self.say)

    def _await_containerd(self) -> None:
        process.until(
            "answer from containerd",
            lambda: containers.answers(self.layout),
            layout=self.layout,
            needs=("containerd",),
            timeout=shell.PATIENCE,
        )

    def _forward(self) -> int:
        """Start the forwarder and return the port of the API server on the machine's loopback."""
        with forward.listen(PREFERRED_PORT) as listener:
            number = listener.fileno()
            script = [sys.executable, "-I", str(forward.__file__), f"--fd={number}"]
            self.spawn("forward", [*script, f"--to=127.0.0.1:{node.API_PORT}"], pass_fds=(number,))
            port: int = listener.getsockname()[1]
        return port

    def _write_configuration(self, port: int, programs: node.Binaries) -> None:
        layout = self.layout
        inside = f"https://127.0.0.1:{node.API_PORT}"
        pki.write_kubeconfig(layout.kubeconfig, server=f"https://127.0.0.1:{port}", pki=layout.pki, who="admin")
        pki.write_kubeconfig(layout.inner_kubeconfig, server=inside, pki=layout.pki, who="admin")
        pki.write_kubeconfig(layout.run / "kubeconfig.node", server=inside, pki=layout.pki, who="node")
        (layout.conf / "cni").mkdir(parents=True, exist_ok=True)
        (layout.conf / "cni" / "10-specdec.conflist").write_text(
            json.dumps(node.configuration("cni", layout), indent=2)
        )
        runtime = node.containerd_config(layout, programs, teardown.filesystem(layout.images))
        (layout.conf / "containerd.toml").write_text(runtime)
        (layout.conf / "kubelet.yaml").write_text(yaml.safe_dump(node.configuration("kubelet", layout)))
        (layout.conf / "proxy.yaml").write_text(yaml.safe_dump(node.configuration("proxy", layout)))

    def _start(self, programs: node.Binaries, *names: str) -> None:
        for name in names:
            self.spawn(name, node.command(name, self.layout, programs))

    def spawn(self, name: str, argv: list[str], pass_fds: tuple[int, ...] = ()) -> None:
        """Start one program in the cluster's network namespace, with a log and an identity of its own."""
        process.spawn(
            name,
            netns.entered(self.layout.namespace, argv),
            folder=self.layout.processes,
            log=self.layout.log / f"{name}.log",
            env={"PATH": packages.search_path()},
            pass_fds=pass_fds,
        )
