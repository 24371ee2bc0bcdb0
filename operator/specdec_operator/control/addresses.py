"""Addresses at which a pod may be asked for its metrics: whoever may write the status of a pod chooses its address."""

import ipaddress
from urllib.parse import urlsplit

from specdec_operator.errors import Unavailable

_LOCAL = "localhost"


def is_local(url: str) -> bool:
    """Whether a server is on this machine: a cluster whose API server is has its pods here, perhaps on loopback."""
    host = urlsplit(url).hostname or ""
    try:
        return host == _LOCAL or _plain(host).is_loopback
    except ValueError:
        return False


def refuse_address(address: str, *, local: bool) -> None:
    """Raises Unavailable for what is no address of a pod: of the operator's own host or link, of many, of none.

    Link-local ones are those at which clouds tell a machine its credentials. local: whether the cluster is on this
    machine, where pods may be on loopback.
    """
    try:
        found = _plain(address)
    except ValueError as error:
        raise Unavailable("NoAddress", f"{address!r} is no address") from error
    if found.is_loopback and local:
        return
    if found.is_loopback or found.is_link_local or found.is_multicast or found.is_unspecified:
        raise Unavailable("NoAddress", f"{address} is no address that a pod can have; it is not asked")


def _plain(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """The address; of an IPv4 address in an IPv6 one, the former. Raises ValueError."""
    found = ipaddress.ip_address(address)
    return getattr(found, "ipv4_mapped", None) or found
