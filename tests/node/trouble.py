"""What keeps pods of the cluster from running, in a few lines: for the report of a test that failed on it."""

import shutil
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from hack.cluster import kubectl, paths
from hack.cluster.errors import ClusterError

_EVENTS: Final = 12
"""Warnings that are shown, the last ones."""
_WORDS: Final = 300
_Object = Mapping[str, Any]


def ask() -> list[str]:
    """Return lines about the running cluster: disk, nodes, pods, warnings; or one line if it does not answer."""
    layout = paths.layout()
    try:
        config = kubectl.config()
        found = {kind: _items(kubectl.get(config, kind, "--all-namespaces")) for kind in ("nodes", "pods", "events")}
    except (ClusterError, ValueError) as error:
        return [f"the cluster does not answer: {error}"]
    free = shutil.disk_usage(layout.run).free / 1e9
    return [f"disk of the cluster: {free:.1f} GB free", *lines(**found)]


def lines(nodes: Iterable[_Object], pods: Iterable[_Object], events: Iterable[_Object]) -> list[str]:
    """Nodes with their troubles, pods that are not ready with the reason, and the last warnings."""
    warnings = sorted((each for each in events if each.get("type") == "Warning"), key=_at)[-_EVENTS:]
    return [
        *(f"node {each['metadata']['name']}: {', '.join(_conditions(each)) or 'ready, no pressure'}" for each in nodes),
        *(f"pod {_name(each)}: {'; '.join(_waits(each))}"[:_WORDS] for each in pods if not _ready(each)),
        *(f"{_at(each)} {_about(each)} {each['reason']}: {each.get('message', '')}"[:_WORDS] for each in warnings),
    ]


def _items(found: _Object | None) -> list[_Object]:
    return list((found or {}).get("items", []))


def _conditions(node: _Object) -> Iterator[str]:
    """Every condition that is not as it is on a healthy node, and what keeps pods away."""
    for each in node["status"].get("conditions", []):
        if (each["type"] == "Ready") is not (each["status"] == "True"):
            yield f"{each['type']}={each['status']} ({each.get('message', '')})"
    for taint in node["spec"].get("taints", []):
        yield f"taint {taint['key']}:{taint['effect']}"


def _ready(pod: _Object) -> bool:
    status = pod["status"]
    if status.get("phase") == "Succeeded":
        return True
    return any(each["type"] == "Ready" and each["status"] == "True" for each in status.get("conditions", []))


def _waits(pod: _Object) -> Iterator[str]:
    status = pod["status"]
    yield " ".join(filter(None, (status.get("phase"), status.get("reason"), status.get("message"))))
    for each in status.get("conditions", []):
        if each["type"] == "PodScheduled" and each["status"] != "True":
            yield f"{each.get('reason', '')}: {each.get('message', '')}"
    for each in (*status.get("initContainerStatuses", []), *status.get("containerStatuses", [])):
        for state in ("waiting", "terminated"):
            if told := each.get("state", {}).get(state):
                yield f"{each['name']} {state}: {told.get('reason', '')} {told.get('message', '')}".strip()


def _name(item: _Object) -> str:
    return f"{item['metadata']['namespace']}/{item['metadata']['name']}"


def _about(event: _Object) -> str:
    about = event["involvedObject"]
    return f"{about.get('kind', '')} {about.get('namespace', '')}/{about.get('name', '')}"


def _at(event: _Object) -> str:
    return str(event.get("lastTimestamp") or event.get("eventTime") or event["metadata"].get("creationTimestamp") or "")
