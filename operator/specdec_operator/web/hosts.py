"""Which names a browser may call this server by. Pure.

A stranger's page can let its own name point to 127.0.0.1 (DNS rebinding) and read what is served there; the browser
then still sends the stranger's name. An address cannot be turned like that.
"""

import ipaddress
import re
from collections.abc import Collection
from typing import Final

_HOST: Final = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::[0-9]{1,5})?")


def is_known(host: str, names: Collection[str]) -> bool:
    """Whether a request with this Host header is meant for this server: an address, localhost, or one of the names."""
    found = _HOST.fullmatch(host)
    if found is None:
        return False
    name = (found["six"] or found["name"]).lower()
    return name == "localhost" or name in {each.lower() for each in names} or _is_address(name)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
