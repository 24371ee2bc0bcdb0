"""Real webhooks that refuse what is made in one namespace, give its pods a scheduling gate, or undo a change. Their
server is this file as a program, for the API server of the local cluster only reaches what is in the cluster's own
network.
"""

import asyncio
import base64
import contextlib
import json
import pathlib
import ssl
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer

from hack.cluster import pki

from tests.wire.api import Api, Object, Refused

WORDS = "no image of this registry is allowed any more"
GATE = "example.com/quota"
_KINDS = "/apis/admissionregistration.k8s.io/v1"


@contextlib.asynccontextmanager
async def refusing(
    api: Api, namespace: str, group: str, resource: str, *, prefix: Sequence[str] = ()
) -> AsyncIterator[str]:
    """For the length of the block nothing of a resource is made in the namespace; yields the API server's error.

    prefix: of the server's command line, so that it runs where the API server reaches it.
    """
    async with _serving(api, namespace, (group, resource, "CREATE"), prefix=prefix):
        yield f'admission webhook "images.example.com" denied the request: {WORDS}'


@contextlib.asynccontextmanager
async def gating(api: Api, namespace: str, *, prefix: Sequence[str] = ()) -> AsyncIterator[None]:
    """For the length of the block each pod that is made in the namespace has the scheduling gate GATE, as a job queue
    sets it: the pod is scheduled once another component removes the gate.
    """
    gate = {"op": "add", "path": "/spec/schedulingGates", "value": [{"name": GATE}]}
    async with _serving(api, namespace, ("", "pods", "CREATE"), prefix=prefix, patch=[gate]):
        yield


@contextlib.asynccontextmanager
async def undoing(api: Api, namespace: str, group: str, resource: str, path: str, value: object) -> AsyncIterator[None]:
    """For the length of the block each change of an object of the namespace leaves this value at this path."""
    patch = [{"op": "replace", "path": path, "value": value}]
    async with _serving(api, namespace, (group, resource, "UPDATE"), patch=patch):
        yield


@contextlib.asynccontextmanager
async def _serving(
    api: Api,
    namespace: str,
    about: tuple[str, str, str],
    *,
    prefix: Sequence[str] = (),
    patch: Sequence[Object] = (),
) -> AsyncIterator[None]:
    """about: group, resource and operation. patch: of each object; none: it is refused."""
    (group, resource, operation), kind = about, "mutating" if patch else "validating"
    path = f"{_KINDS}/{kind}webhookconfigurations"
    with tempfile.TemporaryDirectory() as made:
        folder, name = pathlib.Path(made), f"no-new-{resource}-{namespace}"
        pki.self_signed(folder, "webhook", "/CN=webhook", names="IP:127.0.0.1")
        argv = [*prefix, sys.executable, "-m", "tests.webhook", made, json.dumps(patch)]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, cwd=pathlib.Path(__file__).parents[1]) as server:
            try:
                assert server.stdout is not None
                port = int(server.stdout.readline())  # it listens, on a port that is free where it runs
                rule = {"apiGroups": [group], "apiVersions": ["*"], "operations": [operation]}
                rule["resources"] = [resource]
                await api.call("post", path, _configuration(name, namespace, rule, port, folder))
                await asyncio.sleep(2)  # the API server takes it in
                yield
            finally:
                with contextlib.suppress(Refused):
                    await api.call("delete", f"{path}/{name}")
                server.terminate()


def _configuration(name: str, namespace: str, rule: Object, port: int, folder: pathlib.Path) -> Object:
    bundle = base64.b64encode((folder / "webhook.crt").read_bytes()).decode()
    hook: Object = {
        "name": "images.example.com",
        "clientConfig": {"url": f"https://127.0.0.1:{port}/", "caBundle": bundle},
        "rules": [rule],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "failurePolicy": "Fail",
    }
    return {"metadata": {"name": name}, "webhooks": [hook]}


class _Review(BaseHTTPRequestHandler):
    """Changes each object by the patch; without one, refuses it."""

    patch: Sequence[Object] = ()

    def log_message(self, *_: object) -> None:
        """Nothing: it is asked again and again."""

    def do_POST(self) -> None:
        """One object."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = {"uid": asked["request"]["uid"], "allowed": bool(self.patch)}
        if self.patch:
            answer |= {"patchType": "JSONPatch", "patch": base64.b64encode(json.dumps(self.patch).encode()).decode()}
        else:
            answer["status"] = {"message": WORDS}
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": answer}
        body = json.dumps(review).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _serve(folder: pathlib.Path) -> None:
    secure = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    secure.load_cert_chain(folder / "webhook.crt", folder / "webhook.key")
    server = HTTPServer(("127.0.0.1", 0), _Review)
    server.socket = secure.wrap_socket(server.socket, server_side=True)
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    _Review.patch = json.loads(sys.argv[2])
    _serve(pathlib.Path(sys.argv[1]))
