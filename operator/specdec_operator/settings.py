"""The operator's own configuration, from environment variables SPECDEC_*."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from specdec_engine.accelerators import Accelerator
from specdec_operator.errors import OperatorError

_MOST_SHARDS: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How this process runs.

    namespaces: namespaces to watch, all where empty. health_port, metrics_port: where /healthz and /metrics listen.
    kserve_namespace: where KServe's controller and its ConfigMap are. kserve_version: KServe's version where its image
    does not show it, such as 0.20. storage_initializer: image of its storage-initializer, where its ConfigMap does not.
    runtimes: accelerators, and the runtimes of services that name none; specdec-<accelerator> where one is left out.
    runtime_images: accelerators, and the images that replace those of this release's runtimes.
    image: the operator's own, from which an init container brings what other images lack; empty: nothing is brought.
    scrape_timeout: seconds that a pod's metrics may take. scrape_limit: scrapes under way at once.
    rollouts: rollouts that the operator begins by itself at once, 0: any number.
    guests_per_namespace: existing services of one namespace that are guarded, the oldest guards first, 0: any number.
    prometheus_urls: the servers that guard.source.prometheus may name, none where empty; * among them: any server.
    leader_lease: namespace and name of the Lease that replicas compete for; empty: this one works, come what may.
    shards: replicas that services are spread over by namespace, each with a Lease of its own; 1: one replica works.
    web_port: where the web page listens, 0: nowhere; on web_address, to browsers that call it by an address, localhost
    or one of web_hosts.
    """

    namespaces: tuple[str, ...] = ()
    health_port: int = 8080
    metrics_port: int = 9090
    kserve_namespace: str = "kserve"
    kserve_version: str = ""
    storage_initializer: str = ""
    runtimes: tuple[tuple[str, str], ...] = ()
    runtime_images: tuple[tuple[str, str], ...] = ()
    image: str = ""
    scrape_timeout: float = 5.0
    scrape_limit: int = 32
    rollouts: int = 20
    guests_per_namespace: int = 50
    prometheus_urls: tuple[str, ...] = ()
    leader_lease: tuple[str, ...] = ()
    shards: int = 1
    web_port: int = 0
    web_address: str = "127.0.0.1"
    web_hosts: tuple[str, ...] = ()
    log_level: str = "INFO"


def read_settings(environ: Mapping[str, str] = os.environ) -> Settings:
    """Each from the variable of its name, such as SPECDEC_WEB_PORT. Raises OperatorError naming one that is wrong."""
    values: dict[str, Any] = {}
    for variable in VARIABLES.keys() & environ.keys():
        each = VARIABLES[variable]
        reader = _READERS.get(each.name) or _READERS[type(each.default)]
        values[each.name] = reader(environ[variable], f"{variable}={environ[variable]!r}", each.default)
    settings = Settings(**values)
    if settings.shards > 1 and not settings.leader_lease:
        rule = "each shard needs a Lease; also set SPECDEC_LEADER_LEASE=namespace/name"
        raise OperatorError("InvalidSettings", f"SPECDEC_SHARDS={settings.shards}: {rule}")
    return settings


def api_server(environ: Mapping[str, str] = os.environ) -> str | None:
    """The API server's URL by the address that every pod is given; None outside a cluster."""
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT", "443")
    if host is None:
        return None
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


def _list(text: str, *_: object) -> tuple[str, ...]:
    """The parts of a list with commas, without the spaces around them."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _lease(text: str, setting: str, _: object) -> tuple[str, ...]:
    parts = tuple(text.split("/")) if text else ()
    if parts and (len(parts) != 2 or not all(parts)):
        raise OperatorError("InvalidSettings", f"{setting}: write namespace/name of a Lease")
    return parts


def _runtimes(text: str, setting: str, _: object) -> tuple[tuple[str, str], ...]:
    named = tuple(part.partition("=")[::2] for part in _list(text))
    known = [each.value for each in Accelerator]
    if any(accelerator not in known or not name for accelerator, name in named):
        rule = f"write accelerator=name pairs, separated by commas; the accelerators are {', '.join(known)}"
        raise OperatorError("InvalidSettings", f"{setting}: {rule}")
    return named


def _number(text: str, setting: str, default: object) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise OperatorError("InvalidSettings", f"{setting}: write a whole number, such as {default}") from error


def _shards(text: str, setting: str, default: object) -> int:
    shards = _number(text, setting, default)
    if not 1 <= shards <= _MOST_SHARDS:
        raise OperatorError("InvalidSettings", f"{setting}: write a number from 1 to {_MOST_SHARDS}")
    return shards


_READERS: Final[Mapping[object, Callable[[str, str, Any], object]]] = {
    "leader_lease": _lease,
    "runtimes": _runtimes,
    "runtime_images": _runtimes,
    "shards": _shards,
    "log_level": lambda text, *_: text.upper(),
    str: lambda text, *_: text,
    int: _number,
    tuple: _list,
}
"""By the name of a setting or else by its type. What has neither cannot be set from outside."""
VARIABLES: Final = {f"SPECDEC_{each.name.upper()}": each for each in fields(Settings) if type(each.default) in _READERS}
"""The settings that can be set, by the environment variable that does it."""
