"""Checks which parts of the cluster are healthy. It changes nothing."""

import json
from dataclasses import dataclass, replace

import yaml

from hack.cluster import containers, kserve, kubectl, metrics, process, record, single, versions
from hack.cluster.paths import ClusterLayout
from hack.cluster.pki import NODE_NAME
from hack.cluster.record import ClusterDriver

# Names under which the API server reports on its neighbours.
_REPORTED = {"etcd": "etcd-0", "kube-scheduler": "scheduler", "kube-controller-manager": "controller-manager"}
_EVERY_READY = '{.items[*].status.conditions[?(@.type=="Ready")].status}'
_FINE = "fine"
_VERSIONS = {"etcd": versions.ETCD, "containerd": versions.CONTAINERD, "forward": ""}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPart:
    """One row of the table."""

    name: str
    healthy: bool
    note: str
    version: str = ""
    pid: int | None = None


def inspect(layout: ClusterLayout) -> list[ClusterPart]:
    """Return a row for every part that should be there."""
    known = record.read(layout)
    if known is None:
        return [ClusterPart(name="cluster", healthy=False, note="not up")]
    if known.driver is ClusterDriver.KIND:
        return [_api_of_kind(layout), _node(layout, None), _kserve_in_cluster(layout)]
    return _single(layout, known)


def address(layout: ClusterLayout) -> str:
    """Return where clients on this machine find the API server."""
    server: str = yaml.safe_load(layout.kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
    return server


def healthy(parts: list[ClusterPart]) -> bool:
    """Return whether every part is healthy."""
    return all(part.healthy for part in parts)


def _single(layout: ClusterLayout, known: record.Record) -> list[ClusterPart]:
    rows = [_row(layout, name, process.recall(layout.processes, name)) for name in single.COMPONENTS]
    # Without etcd or the API server every question would be a wait, and the answer is known.
    reports = _component_reports(layout) if healthy(rows) else None
    parts = [_judged(row, reports) for row in rows]
    if reports is not None:
        parts.append(_node(layout, containers.answers(layout)))
    if known.kserve:
        parts.append(_row(layout, "KServe", process.recall(layout.processes, kserve.PROCESS), version=known.kserve))
    if metering := process.recall(layout.processes, metrics.PROCESS):
        parts.append(_row(layout, metrics.PROCESS, metering, version=versions.METRICS_SERVER))
    return parts


def _judged(row: ClusterPart, reports: dict[str, str] | None) -> ClusterPart:
    """Add to a row its version and what the API server reports about that component."""
    row = replace(row, version=_VERSIONS.get(row.name, versions.KUBERNETES))
    if reports is None or row.name not in _REPORTED:
        return row
    told = reports.get(_REPORTED[row.name], "no report")
    return row if told == _FINE else replace(row, healthy=False, note=told)


def _row(
    layout: ClusterLayout, name: str, running: process.Identity | None, *, version: str = "", note: str = ""
) -> ClusterPart:
    if running is None or not process.alive(running):
        return ClusterPart(name=name, healthy=False, version=version, note=f"not running; log in {layout.log}")
    return ClusterPart(name=name, healthy=True, version=version, pid=running.pid, note=note)


def _component_reports(layout: ClusterLayout) -> dict[str, str]:
    """Ask the API server how its neighbours are; it alone can reach their ports."""
    answer = kubectl.ask(layout.kubeconfig, "get", "--raw=/api/v1/componentstatuses")
    if answer.code != 0:
        return {}
    items = json.loads(answer.out)["items"]
    return {item["metadata"]["name"]: _verdict(item.get("conditions", [])) for item in items}


def _verdict(conditions: list[dict[str, str]]) -> str:
    for condition in conditions:
        if condition["type"] == "Healthy":
            return _FINE if condition["status"] == "True" else condition.get("error", "unhealthy")
    return "no report"


def _node(layout: ClusterLayout, runtime_answers: bool | None) -> ClusterPart:
    words = ["get", "nodes", f"-o=jsonpath={_EVERY_READY}"]
    answer = kubectl.ask(layout.kubeconfig, *words)
    fine = answer.code == 0 and set(answer.out.split()) == {"True"} and runtime_answers is not False
    trouble = "containerd does not answer" if runtime_answers is False else (answer.err.strip() or "not Ready")
    return ClusterPart(
        name=f"node {NODE_NAME}", healthy=fine, version=versions.KUBERNETES, note="Ready" if fine else trouble
    )


def _api_of_kind(layout: ClusterLayout) -> ClusterPart:
    answer = kubectl.ask(layout.kubeconfig, "get", "--raw=/readyz")
    return ClusterPart(name="kind", healthy=answer.code == 0, version=versions.KIND, note=answer.err.strip())


def _kserve_in_cluster(layout: ClusterLayout) -> ClusterPart:
    words = ["get", "deployment/kserve-controller-manager", f"--namespace={kserve.NAMESPACE}"]
    answer = kubectl.ask(layout.kubeconfig, *words, "-o=jsonpath={.status.availableReplicas}")
    fine = answer.out.strip() not in ("", "0")
    return ClusterPart(name="KServe", healthy=fine, version=versions.KSERVE, note=answer.err.strip())
