"""KServe on the single node: the real controller as a process in the cluster's network namespace.

On kind, kind.py installs it from its Helm charts."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hack.cluster import netns, packages, process, record, shell
from hack.cluster.paths import ClusterLayout
from hack.kserve import module
from hack.kserve.controller import KServeController, Ports
from hack.kserve.objects import NAMESPACE
from hack.kserve.versions import KServeChoice

__all__ = ["NAMESPACE", "PROCESS", "OnNode", "running"]
PROCESS = "kserve"
_PORTS = Ports()


def running() -> str:
    """Which KServe the running cluster has; empty where it has none."""
    return record.running().kserve


@dataclass(frozen=True, slots=True, kw_only=True)
class OnNode:
    """Installs and starts the chosen controller on the single node."""

    layout: ClusterLayout
    choice: KServeChoice
    say: Callable[[str], None]

    def build(self) -> None:
        """Build it where that was not done before: nothing of the cluster is touched if it cannot be built."""
        module.built(self.choice, self.say)

    def start(self) -> None:
        """Install it and start it in place of one that may be running."""
        self.stop()
        self._controller().install(self._spawn)

    def stop(self) -> None:
        """End the controller, and its webhooks with it; what it made stays."""
        if found := process.recall(self.layout.processes, PROCESS):
            self._controller().remove_webhooks()
            process.stop([found], grace=5.0)

    def _controller(self) -> KServeController:
        return KServeController(
            built=module.built(self.choice, self.say),
            version=self.choice.version,
            kubeconfig=self.layout.kubeconfig,
            inner=self.layout.inner_kubeconfig,
            folder=self.layout.run / "kserve",
            ports=_PORTS,
        )

    def _spawn(self, words: Sequence[str], environment: Mapping[str, str]) -> None:
        process.spawn(
            PROCESS,
            netns.entered(self.layout.namespace, words),
            folder=self.layout.processes,
            log=self.layout.log / f"{PROCESS}.log",
            env={"PATH": packages.search_path()} | dict(environment),
        )
        process.until(
            "answer from the KServe controller",
            self._healthy,
            layout=self.layout,
            needs=(PROCESS,),
            timeout=shell.PATIENCE,
        )

    def _healthy(self) -> bool:
        url = f"http://127.0.0.1:{_PORTS.health}/readyz"
        program = f"import urllib.request as r; r.urlopen({url!r}, timeout=2)"
        return shell.ask(netns.entered(self.layout.namespace, [sys.executable, "-I", "-c", program])).code == 0
