"""Which device a service is planned for: found out once, and kept in the status until another one may be meant."""

from collections.abc import Mapping
from typing import Any, Final

from specdec_engine.accelerators import Accelerator
from specdec_engine.memory.plan import DeviceMemory
from specdec_operator.engine.devices import FIELD, TOLD_BY_POD, Node, device_of
from specdec_operator.observe.nodes import selectors
from specdec_operator.reconcile.cluster_info import ClusterInfo
from specdec_operator.reconcile.memory import ServiceMemory
from specdec_operator.reconcile.sis import Parsed, Sis

_FORBIDDEN: Final = "the operator has no permission to list nodes (chart: rbac.nodes)"


async def find_device(
    around: ClusterInfo, parsed: Parsed, memory: ServiceMemory, body: Mapping[str, Any]
) -> DeviceMemory | None:
    """The device of the pods; None: only the spec decides. Raises Unavailable if the API server does not answer.

    The device is kept while model, engine, resources and pod are the same. Otherwise a node that comes or goes would
    change a flag, and so replace the pods of every service that may run on it.
    """
    status = body.get("status", {}) if memory.status is None else memory.status
    sis = parsed.newest if isinstance(parsed.newest, Sis) else parsed.older
    if sis is None or sis.spec.speculation is None or sis.spec.memory.device is not None:
        return None
    if sis.spec.engine.accelerator is Accelerator.CPU:
        return None
    spec = sis.spec.model_dump(mode="json", by_alias=True, exclude_none=True, include={"engine", "pod", "resources"})
    return _kept(sis, status) or await _found(around, spec)


def _kept(sis: Sis, status: Mapping[str, Any]) -> DeviceMemory | None:
    known = status.get("memory") or {}
    source = known.get("deviceSource")
    if not source or source in (FIELD, TOLD_BY_POD) or (status.get("guard") or {}).get("service") != sis.service:
        return None
    return DeviceMemory(bytes=known.get("device"), source=source)


async def _found(around: ClusterInfo, spec: dict[str, Any]) -> DeviceMemory:
    nodes: list[Node] = []
    for selector in selectors(spec.get("pod") or {}):
        listed = await around.nodes(selector)
        if listed is None:
            return device_of(spec, unread=_FORBIDDEN)
        nodes += listed
    return device_of(spec, tuple(nodes))
