"""The devices that services ask for, against what the nodes' device plugins offer; and the nodes' architectures."""

from collections.abc import Iterator
from typing import Final

from specdec_command.doctor.finding import BUILT, DoctorFinding, finding
from specdec_command.doctor.objects import ExaminedService, NodeCapacity, engine_of, nodes, runtime_of, services, usable
from specdec_command.doctor.snapshot import Snapshot
from specdec_engine.quantity import quantity

_ARCH: Final = "kubernetes.io/arch"
_PLUGINS: Final = {
    "nvidia.com": "install NVIDIA's device plugin or GPU operator, and check that its pods run on the GPU nodes",
    "huawei.com": "install Huawei's Ascend device plugin, and check that its pods run on the NPU nodes",
}


def check(snapshot: Snapshot) -> Iterator[DoctorFinding]:
    """Everything about nodes. Yields nothing if not all nodes could be read."""
    if not snapshot.nodes.complete:
        return
    every = nodes(snapshot)
    broken: set[tuple[str, str]] = set()
    for service in services(snapshot):
        if service.spec is None:
            continue
        here = usable(every, service)
        if not here:
            what = (
                f"{len(every)} of {len(snapshot.nodes.items)} nodes are ready, and none of them matches {service.about}"
            )
            fix = "kubectl get nodes --show-labels, and correct spec.pod.nodeSelector or the nodes"
            yield finding("NoNode", service.about, what, fix)
            continue
        yield from _architectures(service, here)
        for name, number in _wanted(service, snapshot).items():
            yield from _device(service, name, number, here)
            broken |= {(each.name, name) for each in here if each.has.get(name, 0) > each.free.get(name, 0) > 0}
    for node, name in sorted(broken):
        fix = f"run kubectl describe node {node}, and read the log of its device plugin"
        yield finding("DevicesUnhealthy", node, f"node {node} advertises fewer {name} than it has", fix)


def _wanted(service: ExaminedService, snapshot: Snapshot) -> dict[str, float]:
    """Devices of one pod; those of the runtime where the service names one of its own."""
    runtime = runtime_of(service, snapshot) if service.spec and service.spec.engine.runtime else None
    lists = [engine_of(runtime).of("resources")] if runtime else []
    devices: dict[str, float] = {}
    for each in (*lists, service.asks):
        amounts = each.of("limits").strings | each.of("requests").strings
        devices |= {name: quantity(text) or 0 for name, text in amounts.items() if "/" in name}
    return {name: number for name, number in devices.items() if number}


def _device(
    service: ExaminedService, name: str, number: float, here: tuple[NodeCapacity, ...]
) -> Iterator[DoctorFinding]:
    most = max(each.free.get(name, 0) for each in here)
    domain = name.partition("/")[0]
    if most == 0:
        others = sorted({other for each in here for other, free in each.free.items() if free and "/" in other})
        offered = f"; they advertise {', '.join(others)}" if others else ""
        what = (
            f"service {service.about} requests {number:.0f} {name}, and none of {len(here)} nodes advertises "
            f"it{offered}"
        )
        fix = _PLUGINS.get(domain, f"install the device plugin of {domain}")
        slices = f", or set an advertised resource in spec.resources.limits (such as {others[0]})" if others else ""
        yield finding("NoDevice", service.about, what, fix + slices)
    elif most < number:
        what = (
            f"service {service.about} requests {number:.0f} {name} in one pod, and no node advertises more than "
            f"{most:.0f}"
        )
        fix = "lower spec.engine.tensorParallelSize, pipelineParallelSize or dataParallelSize, or add a larger node"
        yield finding("TooFewDevices", service.about, what, fix)


def _architectures(service: ExaminedService, here: tuple[NodeCapacity, ...]) -> Iterator[DoctorFinding]:
    there, nodes_are = sorted({each.architecture for each in here} - {""}), f"the nodes for service {service.about} are"
    if there and not {*there} & {*BUILT}:
        fix = f"add a node of {' or '.join(BUILT)}"
        yield finding("ArchitectureUnknown", service.about, f"{nodes_are} {', '.join(there)}", fix)
    elif len(there) > 1:
        fix = f"set spec.pod.nodeSelector {_ARCH} to the architecture of your image, unless the image supports both"
        yield finding("ArchitecturesMixed", service.about, f"{nodes_are} {' and '.join(there)}", fix)
