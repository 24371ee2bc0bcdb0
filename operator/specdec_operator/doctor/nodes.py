"""The nodes of a picture: what each offers, and which of them a service may use."""

from dataclasses import dataclass

from specdec_operator.cli.found import Found
from specdec_operator.doctor.labels import strings
from specdec_operator.doctor.picture import Picture
from specdec_operator.doctor.quantity import quantity
from specdec_operator.doctor.services import Service


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One node that takes pods. free: what it offers to pods in all; has: what it has, broken devices with it."""

    name: str
    labels: dict[str, str]
    architecture: str
    free: dict[str, float]
    has: dict[str, float]


def nodes(picture: Picture) -> tuple[Node, ...]:
    """All nodes that are ready and not cordoned."""
    return tuple(_node(each) for each in picture.nodes.items if _takes_pods(each))


def usable(every: tuple[Node, ...], service: Service) -> tuple[Node, ...]:
    """Those that the service's nodeSelector chooses."""
    pod = service.spec.pod if service.spec else None
    wanted = (pod.node_selector if pod else None) or {}
    return tuple(each for each in every if wanted.items() <= each.labels.items())


def _takes_pods(found: Found) -> bool:
    conditions = found.of("status", "conditions").items
    ready = any(each.of("type").text == "Ready" and each.of("status").text == "True" for each in conditions)
    return ready and not found.of("spec", "unschedulable").flag


def _node(found: Found) -> Node:
    status = found.of("status")
    return Node(
        name=found.of("metadata", "name").text,
        labels=strings(found.of("metadata", "labels")),
        architecture=status.of("nodeInfo", "architecture").text,
        free=_amounts(status.of("allocatable")),
        has=_amounts(status.of("capacity")),
    )


def _amounts(found: Found) -> dict[str, float]:
    read = {name: quantity(text) for name, text in strings(found).items()}
    return {name: number for name, number in read.items() if number is not None}
