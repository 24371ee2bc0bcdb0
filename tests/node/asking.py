"""The client of tests.node.client in a pod of the cluster: started, looked at, and removed."""

import json
import pathlib
from typing import Any

from hack import images

from tests.node import client
from tests.node.film import Film
from tests.node.service import Service
from tests.wire.api import POD


class Client:
    """The pod that asks, and its tally."""

    def __init__(self, service: Service, film: Film) -> None:
        self._service = service
        self._film = film
        self._namespace = service.namespace

    async def start(self, kind: str, connections: tuple[str, ...] = (*client.PAUSES,) * 2) -> None:
        """Starts to send requests with one kind of prompts, inside the cluster and to the service's own address.

        connections: the kind of each connection; by default two of each kind.
        """
        found = await self._service.api.get(("v1", "services"), self._namespace, f"{self._service.name}-predictor")
        assert found is not None
        prompts = json.dumps([self._service.prompt(kind, number) for number in range(16)])
        program = pathlib.Path(client.__file__).read_text()
        words = ["python3", "-c", program, found["spec"]["clusterIP"], self._service.name, prompts, *connections]
        container = {"name": "client", "image": images.refs().runtime, "command": words}
        spec = {"containers": [container], "terminationGracePeriodSeconds": 0, "restartPolicy": "Never"}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "client"}, "spec": spec}
        await self._service.api.create(POD, self._namespace, pod)

    async def tally(self) -> dict[str, Any]:
        """What came of its requests so far."""
        path = self._service.api.path(POD, self._namespace, "client")
        found: dict[str, Any] = json.loads(await self._film.text(f"{path}/log?tailLines=1"))
        return found

    async def stop(self) -> None:
        """Removes it."""
        await self._service.api.delete(POD, self._namespace, "client")
