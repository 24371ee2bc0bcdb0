"""What the cluster around a sis is: its KServe, Kubernetes and nodes. Read now and then, for all loops together."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from specdec_operator import names
from specdec_operator.engine.devices import Node
from specdec_operator.kube.cluster import Cluster
from specdec_operator.observe.nodes import device_facts
from specdec_operator.staging.kserve import KServe
from specdec_operator.staging.kserve_detect import KServeEvidence, kserve_of

_CRD: Final = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/inferenceservices.{names.KSERVE_GROUP}"
_CONTAINERS: Final = f"/apis/{names.KSERVE_GROUP}/v1alpha1/clusterstoragecontainers"
_CONTROLLER: Final = "/apis/apps/v1/namespaces/{}/deployments/kserve-controller-manager"
_CONFIG: Final = "/api/v1/namespaces/{}/configmaps/inferenceservice-config"
_EVERY: Final = 300.0
"""Seconds between two looks: an upgrade of KServe takes longer than that, and its CRD has two megabytes."""
_UNTIL_THERE: Final = 10.0
_NODES: Final = "/api/v1/nodes"


class ClusterInfo:
    """Keeps the newest read. Raises Unavailable if the API server does not answer.

    namespace: KServe's. `told`, initializer: as in KServeEvidence. runtimes, runtime_images, image: as in KServe.
    """

    def __init__(
        self,
        cluster: Cluster,
        *,
        clock: Callable[[], float],
        namespace: str,
        told: str = "",
        initializer: str = "",
        runtimes: tuple[tuple[str, str], ...] = (),
        runtime_images: tuple[tuple[str, str], ...] = (),
        image: str = "",
    ) -> None:
        self._cluster = cluster
        self._clock = clock
        self._namespace = namespace
        self._told = told
        self._initializer = initializer
        self._runtimes = runtimes
        self._images = runtime_images
        self._image = image
        self._kserve = KServe()
        self._next_look = 0.0
        self._looking = asyncio.Lock()
        self._nodes: dict[str, tuple[float, tuple[Node, ...] | None]] = {}

    async def kserve(self) -> KServe:
        """The cluster's KServe, as of at most five minutes ago."""
        async with self._looking:
            if self._clock() >= self._next_look:
                sighted = await self._look()
                self._kserve = replace(
                    kserve_of(sighted), runtimes=self._runtimes, images=self._images, operator_image=self._image
                )
                self._next_look = self._clock() + (_EVERY if sighted.crd else _UNTIL_THERE)
            return self._kserve

    async def nodes(self, selector: str) -> tuple[Node, ...] | None:
        """The device facts of the nodes that match a label selector, each kind once. None: the operator may not list
        nodes.

        Nodes are read only for a service that has no device yet. The result is kept for five minutes by selector,
        because a list of metadata has some kilobytes for each node.
        """
        async with self._looking:
            now = self._clock()
            self._nodes = {name: each for name, each in self._nodes.items() if now < each[0]}
            if selector not in self._nodes:
                listed = await self._cluster.list_metadata(_NODES, selector)
                self._nodes[selector] = (now + _EVERY, None if listed is None else _kinds(listed))
            return self._nodes[selector][1]

    async def _look(self) -> KServeEvidence:
        read = self._cluster.read
        return KServeEvidence(
            crd=await read(_CRD),
            controller=await read(_CONTROLLER.format(self._namespace)),
            config=await read(_CONFIG.format(self._namespace)),
            containers=await read(_CONTAINERS),
            kubernetes=await read("/version"),
            told=self._told,
            initializer=self._initializer,
        )


def _kinds(listed: Sequence[Mapping[str, Any]]) -> tuple[Node, ...]:
    every = {frozenset(facts.items()): facts for each in listed if (facts := device_facts(each))}
    return tuple(every.values())
