"""A real Prometheus server on loopback, for tests: the machine's own program, or Debian's, unpacked into the cache."""

import json
import pathlib
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hack.cluster import paths, process
from hack.cluster.errors import ClusterError

from tests import debian
from tests.ports import free_port

_START_SECONDS = 60.0
_GRACE_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server that runs. log: the file with its output."""

    url: str
    identity: process.Identity
    log: pathlib.Path


def ensure(say: Callable[[str], None] = print) -> pathlib.Path:
    """Return the path of the server, after fetching it where it is missing. Two callers fetch it once."""
    return _ensure("prometheus", say)


def promtool(say: Callable[[str], None] = print) -> pathlib.Path:
    """Return the path of the program that checks and tests rules; it comes with the server."""
    return _ensure("promtool", say)


def _ensure(name: str, say: Callable[[str], None]) -> pathlib.Path:
    if own := shutil.which(name):
        return pathlib.Path(own)
    wanted = debian.Wanted(
        packages=("prometheus",),
        file=pathlib.Path("usr", "bin", name),
        absent=f"there is no program `{name}` on PATH",
        way_out="install one (https://prometheus.io/download)",
    )
    return debian.unpack(paths.cache() / "prometheus", wanted, say=say)


def start(folder: pathlib.Path, config: Mapping[str, Any]) -> Server:
    """Start a server that keeps its data in the folder, and wait until it answers. Raises ClusterError."""
    program = ensure()
    folder.mkdir(parents=True, exist_ok=True)
    written = folder / "prometheus.yml"
    written.write_text(json.dumps(config))  # JSON is YAML
    address = f"127.0.0.1:{free_port()}"
    argv = [
        str(program),
        f"--config.file={written}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={address}",
        "--log.level=warn",
    ]
    log = folder / "prometheus.log"
    identity = process.spawn("prometheus", argv, folder=folder, log=log)
    server = Server(url=f"http://{address}", identity=identity, log=log)
    _wait(server)
    return server


def stop(server: Server) -> None:
    """Stop it, by force if it does not answer."""
    process.stop([server.identity], grace=_GRACE_SECONDS)


def _wait(server: Server) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while not _ready(server.url):
        if not process.alive(server.identity) or time.monotonic() > deadline:
            stop(server)
            raise ClusterError(f"prometheus does not serve; its log ends: {server.log.read_text()[-2000:]}")
        time.sleep(0.05)


def _ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/-/ready", timeout=2) as answer:  # noqa: S310 - http on loopback
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False
