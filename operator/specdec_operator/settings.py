"""The operator's own configuration, from environment variables SPECDEC_*."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from specdec_operator.errors import OperatorError


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How this process runs.

    namespaces: namespaces to watch, all where empty. health_port, metrics_port: where /healthz and /metrics listen.
    kserve_namespace: where KServe's controller and its ConfigMap are. kserve_version: KServe's version where its image
    does not tell, such as 0.20. storage_initializer: image of its storage-initializer, where its ConfigMap does not.
    scrape_timeout: seconds that a pod's metrics may take. scrape_limit: scrapes under way at once.
    rollouts: rollouts that the operator begins by itself at once, 0: any number.
    prometheus_urls: the servers that guard.source.prometheus may name, all where empty.
    leader_lease: namespace and name of the Lease that replicas compete for; empty: this one works, come what may.
    web_port: where the web page listens, 0: nowhere; on web_address, to browsers that call it by an address, localhost
    or one of web_hosts.
    """

    namespaces: tuple[str, ...] = ()
    health_port: int = 8080
    metrics_port: int = 9090
    kserve_namespace: str = "kserve"
    kserve_version: str = ""
    storage_initializer: str = ""
    scrape_timeout: float = 5.0
    scrape_limit: int = 32
    rollouts: int = 20
    prometheus_urls: tuple[str, ...] = ()
    leader_lease: tuple[str, ...] = ()
    web_port: int = 0
    web_address: str = "127.0.0.1"
    web_hosts: tuple[str, ...] = ()
    log_level: str = "INFO"


def read_settings(environ: Mapping[str, str] = os.environ) -> Settings:
    """The settings. Raises OperatorError naming the variable that cannot be read."""
    return Settings(
        namespaces=_list(environ, "SPECDEC_NAMESPACES"),
        health_port=_number(environ, "SPECDEC_HEALTH_PORT", 8080),
        metrics_port=_number(environ, "SPECDEC_METRICS_PORT", 9090),
        kserve_namespace=environ.get("SPECDEC_KSERVE_NAMESPACE", "kserve"),
        kserve_version=environ.get("SPECDEC_KSERVE_VERSION", ""),
        storage_initializer=environ.get("SPECDEC_STORAGE_INITIALIZER", ""),
        scrape_limit=_number(environ, "SPECDEC_SCRAPE_LIMIT", 32),
        rollouts=_number(environ, "SPECDEC_ROLLOUTS", 20),
        prometheus_urls=_list(environ, "SPECDEC_PROMETHEUS_URLS"),
        leader_lease=_lease(environ.get("SPECDEC_LEADER_LEASE", "")),
        web_port=_number(environ, "SPECDEC_WEB_PORT", 0),
        web_address=environ.get("SPECDEC_WEB_ADDRESS", "127.0.0.1"),
        web_hosts=_list(environ, "SPECDEC_WEB_HOSTS"),
        log_level=environ.get("SPECDEC_LOG_LEVEL", "INFO").upper(),
    )


def api_server(environ: Mapping[str, str] = os.environ) -> str | None:
    """The API server's URL by the address that every pod is given; None outside a cluster."""
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT", "443")
    if host is None:
        return None
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


def _list(environ: Mapping[str, str], name: str) -> tuple[str, ...]:
    """The parts of a list with commas, without the spaces around them."""
    return tuple(part.strip() for part in environ.get(name, "").split(",") if part.strip())


def _lease(text: str) -> tuple[str, ...]:
    parts = tuple(text.split("/")) if text else ()
    if parts and (len(parts) != 2 or not all(parts)):
        raise OperatorError("InvalidSettings", f"SPECDEC_LEADER_LEASE={text!r}: write namespace/name of a Lease")
    return parts


def _number(environ: Mapping[str, str], name: str, default: int) -> int:
    text = environ.get(name, str(default))
    try:
        return int(text)
    except ValueError as error:
        raise OperatorError("InvalidSettings", f"{name}={text!r}: write a whole number, such as {default}") from error
