"""The single node: the steps that start it. What each program is told is in controlplane.py and node.py."""

import sys
from collections.abc import Callable
from dataclasses import dataclass

import yaml

from hack.cluster import (
    binaries,
    cgroups,
    containers,
    controlplane,
    forward,
    kubeconfig,
    mounts,
    netns,
    node,
    packages,
    pause,
    pki,
    process,
    ready,
    teardown,
)
from hack.cluster.paths import Layout

PREFERRED_PORT = 26443
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
class Step:
    """One line of `up`: what it is called, and what it does."""

    name: str
    act: Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """Starts the node of one layout."""

    layout: Layout
    say: Callable[[str], None]

    def steps(self) -> tuple[Step, ...]:
        """Everything from nothing to a node that takes pods."""
        return (
            Step(name="packages", act=lambda: packages.ensure(self.say)),
            Step(name="programs", act=self.build),
            Step(name="clean up", act=lambda: teardown.take_down(self.layout)),
            Step(name="network namespace", act=self.make_network),
            Step(name="certificates", act=lambda: pki.create(self.layout.pki)),
            Step(name="control plane", act=self.start_control_plane),
            Step(name="node", act=self.start_node),
        )

    def build(self) -> None:
        """Build every program, so that a missing Go is said before anything runs."""
        self._programs()

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
        self._spawn("etcd", controlplane.etcd(self.layout, programs))
        self._spawn("kube-apiserver", controlplane.apiserver(self.layout, programs))
        self._spawn("containerd", node.containerd(self.layout, programs))
        ready.until(
            "answer from the API server",
            lambda: ready.api_ready(port, self.layout.pki / "ca.crt"),
            layout=self.layout,
            needs=("etcd", "kube-apiserver", "forward"),
            timeout=90,
        )

    def start_node(self) -> None:
        """Start the controllers and kubelet, and wait until pods can run."""
        programs = self._programs()
        self._spawn("kube-controller-manager", controlplane.controller_manager(self.layout, programs))
        self._spawn("kube-scheduler", controlplane.scheduler(self.layout, programs))
        self._spawn("kube-proxy", controlplane.proxy(self.layout, programs))
        self._prepare_containerd(programs)
        self._spawn("kubelet", node.kubelet(self.layout, programs))
        ready.until(
            "node that is Ready",
            lambda: ready.node_ready(self.layout.kubeconfig) and ready.account_ready(self.layout.kubeconfig),
            layout=self.layout,
            needs=("kubelet", "containerd", "kube-apiserver", "kube-controller-manager"),
            timeout=90,
        )

    def _prepare_containerd(self, programs: node.Binaries) -> None:
        """Drop containers of an earlier run that was cut short, and bring in the sandbox image."""
        self._await_containerd()
        if containers.purge(self.layout):
            # The CRI part keeps its own list in memory and would go on reporting what is gone.
            process.stop([process.recall_all(self.layout.processes)["containerd"]], grace=5.0)
            self._spawn("containerd", node.containerd(self.layout, programs))
            self._await_containerd()
        if node.PAUSE_IMAGE not in containers.image_names(self.layout):
            archive = pause.archive(programs["pause"], node.PAUSE_IMAGE, self.layout.run / "pause.tar")
            containers.load(self.layout, archive)

    def _programs(self) -> node.Binaries:
        return binaries.ensure(*binaries.PROGRAMS, say=self.say)

    def _await_containerd(self) -> None:
        ready.until(
            "answer from containerd",
            lambda: containers.answers(self.layout),
            layout=self.layout,
            needs=("containerd",),
            timeout=60,
        )

    def _forward(self) -> int:
        """Start the forwarder and return the port of the API server on the machine's loopback."""
        with forward.listen(PREFERRED_PORT) as listener:
            number = listener.fileno()
            script = [sys.executable, "-I", str(forward.__file__), f"--fd={number}"]
            self._spawn("forward", [*script, f"--to=127.0.0.1:{controlplane.API_PORT}"], pass_fds=(number,))
            port: int = listener.getsockname()[1]
        return port

    def _write_configuration(self, port: int, programs: node.Binaries) -> None:
        layout = self.layout
        inside = f"https://127.0.0.1:{controlplane.API_PORT}"
        kubeconfig.write(layout.kubeconfig, server=f"https://127.0.0.1:{port}", pki=layout.pki, who="admin")
        kubeconfig.write(layout.inner_kubeconfig, server=inside, pki=layout.pki, who="admin")
        kubeconfig.write(layout.run / "kubeconfig.node", server=inside, pki=layout.pki, who="node")
        (layout.conf / "cni").mkdir(parents=True, exist_ok=True)
        (layout.conf / "cni" / "10-specdec.conflist").write_text(node.cni_config(layout))
        runtime = node.containerd_config(layout, programs, mounts.filesystem(layout.images))
        (layout.conf / "containerd.toml").write_text(runtime)
        (layout.conf / "kubelet.yaml").write_text(yaml.safe_dump(node.kubelet_config(layout)))
        (layout.conf / "proxy.yaml").write_text(yaml.safe_dump(controlplane.proxy_config(layout)))

    def _spawn(self, name: str, argv: list[str], pass_fds: tuple[int, ...] = ()) -> None:
        process.spawn(
            name,
            netns.entered(self.layout.namespace, argv),
            folder=self.layout.processes,
            log=self.layout.log / f"{name}.log",
            env={"PATH": packages.search_path()},
            pass_fds=pass_fds,
        )
