"""A real registry on loopback for the length of a block, and what a user with write access can do.

The node's containerd has a loopback of its own, in the cluster's network namespace. With a namespace the registry runs
in there, and the cluster's forwarder gives it the same port on the machine's loopback: it has one name on both sides.
containerd takes loopback for a registry without TLS.
"""

import dataclasses
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any, Final

from hack.cluster import forward, netns, shell
from hack.cluster.errors import ClusterError
from hack.images import tool
from hack.release.pushed import Pushed

_SECONDS: Final = 60.0
_PUSH_SECONDS: Final = 900.0
_MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
_INDEX: Final = "application/vnd.oci.image.index.v1+json"
_ACCEPTED: Final = f"{_MANIFEST}, {_INDEX}, application/vnd.docker.distribution.manifest.v2+json"
_CONFIGURATION: Final = """\
version: 0.1
log: {{level: info, accesslog: {{disabled: true}}}}
storage: {{filesystem: {{rootdirectory: {folder}}}}}
http: {{addr: "127.0.0.1:{port}"}}
"""


@contextmanager
def registry(program: pathlib.Path, folder: pathlib.Path, namespace: pathlib.Path | None = None) -> Iterator[str]:
    """Run a registry that keeps everything below a folder; give its address. Raises ClusterError with its log."""
    with forward.listen(0) if namespace else nullcontext() as outside, ExitStack() as running:
        port = outside.getsockname()[1] if outside else 0
        configuration, log = folder / "registry.yaml", folder / "registry.log"
        configuration.write_text(_CONFIGURATION.format(folder=folder / "registry", port=port), encoding="utf-8")
        command = [str(program), "serve", str(configuration)]
        served = running.enter_context(_program(_inside(namespace, command), log))
        address = _address(served, log)
        if outside:
            carry = [sys.executable, "-I", str(forward.__file__), f"--fd={outside.fileno()}", f"--to={address}"]
            running.enter_context(_program(_inside(namespace, carry), folder / "forward.log", outside.fileno()))
        yield address


def _inside(namespace: pathlib.Path | None, command: list[str]) -> list[str]:
    return netns.entered(namespace, command) if namespace else command


@contextmanager
def _program(command: list[str], log: pathlib.Path, *descriptors: int) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program for the length of a block."""
    quiet = os.environ | {"OTEL_TRACES_EXPORTER": "none"}
    with log.open("w") as words:
        running = subprocess.Popen(command, stdout=words, stderr=words, env=quiet, pass_fds=descriptors)
    try:
        yield running
    finally:
        running.terminate()
        running.wait()


def _address(running: subprocess.Popen[bytes], log: pathlib.Path) -> str:
    """If no port is given, the kernel chooses one, and the registry logs it."""
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until and running.poll() is None:
        if found := re.search(r"listening on (127\.0\.0\.1:\d+)", log.read_text(encoding="utf-8")):
            return found[1]
        time.sleep(0.05)
    raise ClusterError(f"the registry does not listen: {log.read_text(encoding='utf-8').strip()[-500:]}")


def push(builder: tool.Tool, ref: str, place: str, name: str) -> Pushed:
    """Push an image of the builder's store by another name; return what the registry has then. Raises ClusterError."""
    full = f"{place}/{name}"
    plain = (
        () if builder.kind is tool.ImageTool.DOCKER else ("--tls-verify=false",)
    )  # docker speaks HTTP to loopback by itself
    shell.run([builder.kind, "tag", ref, full])
    try:
        shell.run([builder.kind, "push", "--quiet", *plain, full], timeout=_PUSH_SECONDS)
    finally:
        shell.run(builder.remove(full))
    repository, _, tag = name.partition(":")
    digest = _digest(_ask("GET", f"{_api(place, repository)}/manifests/{tag}"))
    return Pushed(registry=place, repository=repository, tag=tag, digest=digest)


def join(wanted: Sequence[str], parts: Sequence[Pushed]) -> bytes:
    """Write an index of these images under these names, as docker's buildx does in the workflow."""
    entries = [_entry(each) for each in parts]
    index = json.dumps({"schemaVersion": 2, "mediaType": _INDEX, "manifests": entries}, indent=2).encode()
    for name in wanted:
        place, _, full = name.rpartition("/")
        repository, _, tag = full.partition(":")
        _ask("PUT", f"{_api(place, repository)}/manifests/{tag}", index, _INDEX)
    return _ask("GET", f"{_api(place, repository)}/manifests/{tag}")


def _entry(image: Pushed) -> dict[str, Any]:
    """An image as an index names it: for which processor it is, is in its own configuration."""
    api = _api(image.registry, image.repository)
    content = _ask("GET", f"{api}/manifests/{image.digest}")
    manifest = json.loads(content)
    config = json.loads(_ask("GET", f"{api}/blobs/{manifest['config']['digest']}"))
    platform = {name: config[name] for name in ("architecture", "os")}
    return {"mediaType": manifest["mediaType"], "size": len(content), "digest": image.digest, "platform": platform}


def start_something_else(image: Pushed) -> Pushed:
    """Let the tag of an image name one that starts another program, as a user with write access can."""
    api = _api(image.registry, image.repository)
    index = json.loads(_ask("GET", f"{api}/manifests/{image.digest}"))
    manifest = json.loads(_ask("GET", f"{api}/manifests/{index['manifests'][0]['digest']}"))
    config = json.loads(_ask("GET", f"{api}/blobs/{manifest['config']['digest']}"))
    config["config"]["Entrypoint"] = ["/bin/sh", "-c", "something else"]
    blob = json.dumps(config).encode()
    _upload(api, blob)
    manifest["config"] |= {"digest": _digest(blob), "size": len(blob)}
    changed = json.dumps(manifest).encode()
    _ask("PUT", f"{api}/manifests/{image.tag}", changed, manifest["mediaType"])
    return dataclasses.replace(image, digest=_digest(changed))


def _api(place: str, repository: str) -> str:
    """Where a repository is in the registry's API. place: the registry's address, with or without a path."""
    host, *path = place.split("/")
    return f"http://{host}/v2/{'/'.join((*path, repository))}"


def _upload(api: str, blob: bytes) -> None:
    request = urllib.request.Request(f"{api}/blobs/uploads/", method="POST")  # noqa: S310 - loopback
    with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310
        where = answer.headers["Location"]
    joint = "&" if "?" in where else "?"
    _ask("PUT", f"{where}{joint}digest={_digest(blob)}", blob, "application/octet-stream")


def _ask(verb: str, url: str, body: bytes | None = None, kind: str = "") -> bytes:
    headers: dict[str, Any] = {"Content-Type": kind} if body is not None else {"Accept": _ACCEPTED}
    request = urllib.request.Request(url, data=body, headers=headers, method=verb)  # noqa: S310 - loopback
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310
            return bytes(answer.read())
    except urllib.error.HTTPError as error:
        raise ClusterError(
            f"the registry answers {error.code} to {verb} {url}: {error.read().decode()[:300]}"
        ) from error


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
