"""metrics-server on the single node: with it, `kubectl top` and HorizontalPodAutoscalers work.

It runs on request only. An API that is registered and does not answer keeps every namespace from being deleted, so
`stop` takes the API out of the cluster before it ends the program.
"""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from hack.cluster import binaries, kubectl, netns, node, process, record, shell, single
from hack.cluster.errors import ClusterError
from hack.cluster.paths import ClusterLayout
from hack.cluster.record import ClusterDriver

PROCESS: Final = "metrics-server"
API: Final = "v1beta1.metrics.k8s.io"
_NAMESPACE: Final = "kube-system"
_META: Final = {"name": PROCESS, "namespace": _NAMESPACE}
_USAGE: Final = "/apis/metrics.k8s.io/v1beta1/nodes"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsServer:
    """Starts and stops metrics-server on the running single node. Each may be repeated."""

    layout: ClusterLayout
    say: Callable[[str], None]

    def start(self) -> None:
        """Build it, start it, register its API, and wait until it knows what the node uses. Raises ClusterError."""
        self._require_node()
        if process.alive(process.recall(self.layout.processes, PROCESS)):
            return
        program = binaries.ensure_from(binaries.METRICS, PROCESS, say=self.say)
        try:
            self._start(node.command(PROCESS, self.layout, program))
        except ClusterError:
            self.stop()
            raise

    def stop(self) -> None:
        """Take its API out of the cluster, then end it."""
        if record.read(self.layout) is not None:
            kubectl.ask(self.layout.kubeconfig, "delete", f"apiservice/{API}", "--ignore-not-found")
        running = process.recall(self.layout.processes, PROCESS)
        process.stop([running] if running else [], grace=5.0)
        (self.layout.processes / f"{PROCESS}.json").unlink(missing_ok=True)

    def _start(self, command: list[str]) -> None:
        single.SingleNode(layout=self.layout, say=self.say).spawn(PROCESS, command)
        authority = (self.layout.pki / "ca.crt").read_bytes()
        kubectl.apply(self.layout.kubeconfig, objects(authority), self.layout.run / f"{PROCESS}.json")
        process.until("usage of the node", self._answers, layout=self.layout, needs=(PROCESS,), timeout=shell.PATIENCE)

    def _require_node(self) -> None:
        if record.running().driver is ClusterDriver.KIND:
            raise ClusterError("metrics-server is started on the single node only; on kind, install its own manifests")
        if not (self.layout.pki / "front-proxy.crt").exists():
            raise ClusterError("this cluster was started by an older version: `python -m hack.cluster down`, then `up`")

    def _answers(self) -> bool:
        answer = kubectl.ask(self.layout.kubeconfig, "get", f"--raw={_USAGE}")
        return answer.code == 0 and '"usage"' in answer.out


def objects(authority: bytes) -> list[dict[str, Any]]:
    """The objects by which the API server finds it: a Service without a selector, one endpoint on the node, an API.

    authority: the PEM certificate that vouches for the server's.
    """
    port = {"name": "https", "protocol": "TCP", "port": node.METRICS_PORT}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": _META}
    slices = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4"}
    api = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": API}}
    return [
        service | {"spec": {"ports": [port | {"port": 443, "targetPort": node.METRICS_PORT}]}},
        slices
        | {
            "metadata": _META | {"labels": {"kubernetes.io/service-name": PROCESS}},
            "endpoints": [{"addresses": [netns.NODE], "conditions": {"ready": True}}],
            "ports": [port],
        },
        api
        | {
            "spec": {
                "group": "metrics.k8s.io",
                "version": "v1beta1",
                "service": {"name": PROCESS, "namespace": _NAMESPACE, "port": 443},
                "caBundle": base64.b64encode(authority).decode(),
                "groupPriorityMinimum": 100,
                "versionPriority": 100,
            }
        },
    ]
