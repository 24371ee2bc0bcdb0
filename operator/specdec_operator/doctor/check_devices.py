"""The devices that services ask for, against what the nodes' device plugins offer; and the nodes' architectures."""

from collections.abc import Iterator
from typing import Final

from specdec_operator.cli.found import Found
from specdec_operator.doctor.check_runtimes import container, runtime
from specdec_operator.doctor.finding import Area, Finding, Kind, Severity
from specdec_operator.doctor.labels import strings
from specdec_operator.doctor.nodes import Node, nodes, usable
from specdec_operator.doctor.picture import Picture
from specdec_operator.doctor.quantity import quantity
from specdec_operator.doctor.services import Service, services

BUILT: Final = ("amd64", "arm64")
"""Architectures that the runtime images are built for."""
_ARCH: Final = "kubernetes.io/arch"
_PLUGINS: Final = {
    "nvidia.com": "install NVIDIA's device plugin or GPU operator, and look whether its pods run on the GPU nodes",
    "huawei.com": "install Huawei's Ascend device plugin, and look whether its pods run on the NPU nodes",
}

NO_NODE: Final = Kind(
    id="NoNode",
    area=Area.DEVICES,
    severity=Severity.FIX,
    when="no ready node is chosen by a service's nodeSelector",
    why="its pods stay Pending",
)
NO_DEVICE: Final = Kind(
    id="NoDevice",
    area=Area.DEVICES,
    severity=Severity.FIX,
    when="a service asks for a device that no node offers",
    why="its pods stay Pending",
)
TOO_FEW: Final = Kind(
    id="TooFewDevices",
    area=Area.DEVICES,
    severity=Severity.FIX,
    when="one pod asks for more devices than the largest node offers",
    why="its pods stay Pending",
)
UNHEALTHY: Final = Kind(
    id="DevicesUnhealthy",
    area=Area.DEVICES,
    severity=Severity.LOOK,
    when="a node has more of the devices that a service asks for than it offers",
    why="its device plugin took the others out, mostly because they failed",
)
ARCHITECTURE: Final = Kind(
    id="ArchitectureUnknown",
    area=Area.DEVICES,
    severity=Severity.FIX,
    when=f"no node that a service may use is {' or '.join(BUILT)}",
    why="there is no runtime image for it",
)
MIXED: Final = Kind(
    id="ArchitecturesMixed",
    area=Area.DEVICES,
    severity=Severity.LOOK,
    when="a service may be put on nodes of two architectures",
    why="an image that was built for one does not start on the other (exec format error)",
)
KINDS: Final = (NO_NODE, NO_DEVICE, TOO_FEW, UNHEALTHY, ARCHITECTURE, MIXED)


def check(picture: Picture) -> Iterator[Finding]:
    """Everything about nodes. Says nothing where not all nodes could be read."""
    if not picture.nodes.complete:
        return
    every = nodes(picture)
    broken: set[tuple[str, str]] = set()
    for service in services(picture):
        if service.spec is None:
            continue
        here = usable(every, service)
        if not here:
            what = (
                f"{len(every)} of {len(picture.nodes.items)} nodes are ready, none of them is one for {service.about}"
            )
            fix = "kubectl get nodes --show-labels, and correct spec.pod.nodeSelector or the nodes"
            yield NO_NODE.found(service.about, what, fix)
            continue
        yield from _architectures(service, here)
        for name, number in _asked(service, picture).items():
            yield from _device(service, name, number, here)
            broken |= {(each.name, name) for each in here if each.has.get(name, 0) > each.free.get(name, 0) > 0}
    for node, name in sorted(broken):
        fix = f"kubectl describe node {node}, and look at the log of the device plugin there"
        yield UNHEALTHY.found(node, f"node {node} has more {name} than it offers", fix)


def _asked(service: Service, picture: Picture) -> dict[str, float]:
    """Devices of one pod; those of the runtime where the service names one of its own."""
    found = runtime(service, picture) if service.spec and service.spec.engine.runtime else None
    lists = [container(found).of("resources")] if found else []
    asked: dict[str, float] = {}
    for each in (*lists, Found(service.asks)):
        amounts = {**strings(each.of("limits")), **strings(each.of("requests"))}
        asked |= {name: quantity(text) or 0 for name, text in amounts.items() if "/" in name}
    return {name: number for name, number in asked.items() if number}


def _device(service: Service, name: str, number: float, here: tuple[Node, ...]) -> Iterator[Finding]:
    most = max(each.free.get(name, 0) for each in here)
    domain = name.partition("/")[0]
    if most == 0:
        others = sorted({other for each in here for other, free in each.free.items() if free and "/" in other})
        offered = f"; they offer {', '.join(others)}" if others else ""
        what = f"service {service.about} asks for {number:.0f} {name}, which none of {len(here)} nodes offers{offered}"
        fix = _PLUGINS.get(domain, f"install the device plugin of {domain}")
        slices = f", or name what is offered in spec.resources.limits (such as {others[0]})" if others else ""
        yield NO_DEVICE.found(service.about, what, fix + slices)
    elif most < number:
        what = (
            f"service {service.about} asks for {number:.0f} {name} in one pod, and no node offers more than {most:.0f}"
        )
        fix = "lower spec.engine.tensorParallelSize, pipelineParallelSize or dataParallelSize, or add a larger node"
        yield TOO_FEW.found(service.about, what, fix)


def _architectures(service: Service, here: tuple[Node, ...]) -> Iterator[Finding]:
    found = sorted({each.architecture for each in here if each.architecture})
    if found and not {*found} & {*BUILT}:
        fix = f"add a node of {' or '.join(BUILT)}"
        yield ARCHITECTURE.found(service.about, f"the nodes for service {service.about} are {', '.join(found)}", fix)
    elif len(found) > 1:
        fix = f"set spec.pod.nodeSelector {_ARCH} to the one that your image is built for, unless it is built for both"
        yield MIXED.found(service.about, f"the nodes for service {service.about} are {' and '.join(found)}", fix)
