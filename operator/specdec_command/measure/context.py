"""What ran, where, and what else than speculation differs: without it the numbers mean nothing. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from specdec_operator.observe.pods import ENGINE_CONTAINER

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
"""Labels about a node's hardware, by their prefixes."""
_MACHINE: Final = frozenset({"cpu", "memory"})
"""The capacities of a node that are shown next to its devices: those have a slash in their names."""
_OWN_NAME: Final = "INFERENCE_SERVICE_NAME"
"""A variable that KServe sets to the name of the service: it differs for any two."""
_NODE_WORDS: Final = ("architecture", "osImage", "kernelVersion", "containerRuntimeVersion", "kubeletVersion")
_SPECULATION: Final = "--speculative-config"
_SECRET: Final = re.compile(r"TOKEN|SECRET|PASSW|CREDENTIAL|(^|_|-)(API_?)?KEY($|_|-)", re.IGNORECASE)


def differences(speculating: Sequence[str], baseline: Sequence[str]) -> tuple[str, ...]:
    """What differs between two commands except the flag of speculation, one sentence each."""
    left, right = _flags(speculating), _flags(baseline)
    names = dict.fromkeys((*left, *right))
    return tuple(
        f"{name}: {_shown(left, name)} with speculation, {_shown(right, name)} without"
        for name in names
        if name != _SPECULATION and left.get(name) != right.get(name)
    )


def environment(env: Sequence[dict[str, object]]) -> tuple[str, ...]:
    """A container's variables as NAME=value. Values that come from elsewhere, or look like secrets, are not shown."""
    return tuple(f"{each['name']}={_value(each)}" for each in env)


def _value(variable: dict[str, object]) -> str:
    if "valueFrom" in variable:
        return "(from elsewhere)"
    return "(hidden)" if _SECRET.search(str(variable["name"])) else str(variable.get("value", ""))


def _flags(words: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Values by flag, in the order in which they come; words before the first flag are under the empty name."""
    flags: dict[str, tuple[str, ...]] = {}
    name = ""
    for word in words:
        value, separator = word, "="
        if word.startswith("-"):
            name, separator, value = word.partition("=")
        flags[name] = (*flags.get(name, ()), *([value] if separator else []))
    return flags


def _shown(flags: dict[str, tuple[str, ...]], name: str) -> str:
    if name not in flags:
        return "not set"
    return " ".join(flags[name]) or "set"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeHardware:
    """A node's hardware and system, as it reports them. readable: whether it could be read at all."""

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
    nodes: tuple[NodeHardware, ...]
    node_names: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceContext:
    """A service that was measured, and when (`at`, for people). draft: empty without one."""

    at: str
    namespace: str
    name: str
    model: str
    draft: str
    method: str
    speculation: Mapping[str, Any]
    kserve: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Context(ServiceContext):
    """What was compared, and on what."""

    tokens: int | None
    guard_mode: str
    speculating: Running
    plain: Running

    @property
    def other_differences(self) -> tuple[str, ...]:
        """What differs between the two commands and environments except speculation."""
        flags = differences(self.speculating.command, self.plain.command)
        left, right = set(self.speculating.environment), set(self.plain.environment)
        return (*flags, *(f"environment: {each} on one side only" for each in sorted(left ^ right)))


def node_of(node: Object | None) -> NodeHardware:
    """A node; None stands for one that may not be read."""
    if node is None:
        return NodeHardware(readable=False, capacity={}, labels={}, system={})
    labels, status = node["metadata"].get("labels", {}), node.get("status", {})
    info, capacity = status.get("nodeInfo", {}), status.get("capacity", {})
    return NodeHardware(
        readable=True,
        capacity={key: str(value) for key, value in capacity.items() if key in _MACHINE or "/" in key},
        labels={key: value for key, value in sorted(labels.items()) if key.startswith(_NODE_LABELS)},
        system={key: info[key] for key in _NODE_WORDS if key in info},
    )


def running(pods: Sequence[Object], nodes: Mapping[str, Object | None], version: str) -> Running:
    """One side, by its pods, the nodes that they are on, and what the engine calls its version. All pods are equal."""
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
        nodes=tuple({str(each): each for each in map(node_of, nodes.values())}.values()),
        node_names=frozenset(nodes),
    )


def context(service: Object, at: str, speculating: Running, baseline: Running) -> Context:
    """The context of a measurement of this service."""
    known = service_context(service, at)
    return Context(
        **(known | {"draft": known["draft"] or "none"}),
        tokens=service.get("status", {}).get("serving", {}).get("tokens"),
        guard_mode=service["spec"].get("guard", {}).get("mode", "Enforce"),
        speculating=speculating,
        plain=baseline,
    )


def service_context(service: Object, at: str) -> dict[str, Any]:
    """The fields of ServiceContext."""
    spec, status = service["spec"], service.get("status", {})
    speculation, kserve = spec["speculation"], status.get("kserve", {})
    version = kserve.get("version", "unknown")
    return {
        "at": at,
        "namespace": service["metadata"]["namespace"],
        "name": service["metadata"]["name"],
        "model": place_of(spec["model"]),
        "draft": place_of(speculation.get("draft") or {}),
        "method": status.get("serving", {}).get("method") or speculation["method"],
        "speculation": speculation,
        "kserve": f"{version} ({kserve['seen']})" if kserve.get("seen") else version,
    }


def place_of(part: Object) -> str:
    """The place of a model, as a spec has it; empty for none."""
    return ", folder ".join(each for each in (part.get("uri", ""), part.get("path", "")) if each)
