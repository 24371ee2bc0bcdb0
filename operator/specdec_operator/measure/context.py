"""The context without which the numbers mean nothing, read from the cluster's objects. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from specdec_operator.measure.flags import differences, environment
from specdec_operator.serving.pods import ENGINE_CONTAINER

Object = Mapping[str, Any]

_NODE_LABELS: Final = (
    "node.kubernetes.io/instance-type",
    "node.kubernetes.io/npu.",
    "nvidia.com/gpu.",
    "nvidia.com/cuda.",
    "nvidia.com/mig",
    "amd.com/gpu.",
    "huawei.com/",
    "accelerator",
    "cloud.google.com/gke-accelerator",
    "karpenter.k8s.aws/instance-",
    "feature.node.kubernetes.io/cpu-model.",
)
"""Labels that say what a node is made of, by how they begin."""
_MACHINE: Final = frozenset({"cpu", "memory"})
"""What of a node's capacity is told, besides its devices: those have a slash in their names."""
_OWN_NAME: Final = "INFERENCE_SERVICE_NAME"
"""A variable that KServe sets to the name of the service: it differs for any two."""
_NODE_WORDS: Final = ("architecture", "osImage", "kernelVersion", "containerRuntimeVersion", "kubeletVersion")


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """What a node is made of, as it says. readable: whether it could be read at all."""

    readable: bool
    capacity: Mapping[str, str]
    labels: Mapping[str, str]
    system: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """One side as its pods run it. command: of the engine's container, entry point first."""

    pods: int
    command: tuple[str, ...]
    environment: tuple[str, ...]
    image: str
    image_id: str
    resources: Mapping[str, Any]
    engine_version: str
    nodes: tuple[Node, ...]
    node_names: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What was compared, when (`at`, for people), and on what."""

    at: str
    namespace: str
    name: str
    model: str
    draft: str
    method: str
    tokens: int | None
    speculation: Mapping[str, Any]
    guard_mode: str
    kserve: str
    speculating: Running
    plain: Running

    @property
    def other_differences(self) -> tuple[str, ...]:
        """What differs between the two commands and environments besides speculation."""
        told = differences(self.speculating.command, self.plain.command)
        left, right = set(self.speculating.environment), set(self.plain.environment)
        return (*told, *(f"environment: {each} on one side only" for each in sorted(left ^ right)))


def node_of(found: Object | None) -> Node:
    """A node; None stands for one that may not be read."""
    if found is None:
        return Node(readable=False, capacity={}, labels={}, system={})
    labels = found["metadata"].get("labels", {})
    status = found.get("status", {})
    info, capacity = status.get("nodeInfo", {}), status.get("capacity", {})
    return Node(
        readable=True,
        capacity={key: str(value) for key, value in capacity.items() if key in _MACHINE or "/" in key},
        labels={key: value for key, value in sorted(labels.items()) if key.startswith(_NODE_LABELS)},
        system={key: info[key] for key in _NODE_WORDS if key in info},
    )


def running(pods: Sequence[Object], nodes: Mapping[str, Object | None], version: str) -> Running:
    """One side, by its pods, the nodes that they are on, and what the engine calls its version. All pods are alike."""
    spec = pods[0]["spec"]
    container = next(each for each in spec["containers"] if each["name"] == ENGINE_CONTAINER)
    states = pods[0].get("status", {}).get("containerStatuses", ())
    state: Object = next((each for each in states if each["name"] == ENGINE_CONTAINER), {})
    return Running(
        pods=len(pods),
        command=(*container.get("command", ()), *container.get("args", ())),
        environment=environment([each for each in container.get("env", ()) if each["name"] != _OWN_NAME]),
        image=container.get("image", ""),
        image_id=state.get("imageID", ""),
        resources=container.get("resources", {}),
        engine_version=version,
        nodes=_distinct(node_of(each) for each in nodes.values()),
        node_names=frozenset(nodes),
    )


def context(sis: Object, at: str, speculating: Running, plain: Running) -> Context:
    """The context of a measurement of this sis."""
    spec, status = sis["spec"], sis.get("status", {})
    speculation, serving, kserve = spec["speculation"], status.get("serving", {}), status.get("kserve", {})
    version = kserve.get("version", "unknown")
    return Context(
        at=at,
        namespace=sis["metadata"]["namespace"],
        name=sis["metadata"]["name"],
        model=_place(spec["model"]),
        draft=_place(speculation.get("draft") or {}) or "none",
        method=serving.get("method") or speculation["method"],
        tokens=serving.get("tokens"),
        speculation=speculation,
        guard_mode=spec.get("guard", {}).get("mode", "Enforce"),
        kserve=f"{version} ({kserve['seen']})" if kserve.get("seen") else version,
        speculating=speculating,
        plain=plain,
    )


def _place(part: Object) -> str:
    return ", folder ".join(each for each in (part.get("uri", ""), part.get("path", "")) if each)


def _distinct(nodes: Iterable[Node]) -> tuple[Node, ...]:
    found: list[Node] = []
    for each in nodes:
        if each not in found:
            found.append(each)
    return tuple(found)
