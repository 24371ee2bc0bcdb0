"""Waits until parts of the cluster serve, and says what the log said last when they do not."""

import http.client
import pathlib
import ssl
import time
from collections.abc import Callable, Iterable

from hack.cluster import kubectl, process
from hack.cluster.errors import ClusterError
from hack.cluster.paths import Layout
from hack.cluster.pki import NODE_NAME

_READY = '{.status.conditions[?(@.type=="Ready")].status}'
EVERY_READY = '{.items[*].status.conditions[?(@.type=="Ready")].status}'
_LINES = 8


def until(what: str, probe: Callable[[], bool], *, layout: Layout, needs: Iterable[str], timeout: float) -> None:
    """Poll until the probe holds; stop early when one of the processes it depends on has ended."""
    deadline = time.monotonic() + timeout
    names = tuple(needs)
    while not probe():
        for name in names:
            if not process.alive(process.recall(layout.processes, name)):
                raise ClusterError(f"{name} ended while waiting for {what}. {last_words(layout, name)}")
        if time.monotonic() >= deadline:
            told = " ".join(last_words(layout, name) for name in names)
            raise ClusterError(f"no {what} within {timeout:.0f} s. {told}")
        time.sleep(0.1)


def last_words(layout: Layout, name: str) -> str:
    """Quote the end of a program's log."""
    file = layout.log / f"{name}.log"
    try:
        lines = file.read_text(errors="replace").splitlines()[-_LINES:]
    except FileNotFoundError:
        return f"{file} does not exist."
    return f"{file} ends with:\n" + "\n".join(lines)


def api_ready(port: int, authority: pathlib.Path, path: str = "/readyz") -> bool:
    """Ask the API server itself, without a client program: this runs ten times a second while it starts."""
    context = ssl.create_default_context(cafile=str(authority))
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=5, context=context)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def node_ready(kubeconfig: pathlib.Path) -> bool:
    """Tell whether the node takes pods."""
    answer = kubectl.ask(kubeconfig, "get", f"node/{NODE_NAME}", f"-o=jsonpath={_READY}")
    return answer.out == "True"


def account_ready(kubeconfig: pathlib.Path) -> bool:
    """Tell whether pods can be made in namespace default: until then the API server refuses them."""
    return kubectl.ask(kubeconfig, "get", "serviceaccount/default", "--namespace=default").code == 0
