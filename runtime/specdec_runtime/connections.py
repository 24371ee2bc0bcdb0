"""How many connections from elsewhere a port of this pod has, from the kernel's own table."""

from __future__ import annotations

from pathlib import Path

_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_ESTABLISHED = "01"
_LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}
"""127.0.0.1, the same inside IPv6, and ::1, as the kernel writes them on the machines that we know."""


def count(port: int, tables: tuple[Path, ...] = _TABLES) -> int:
    """Open connections to a port, except those from this pod itself; 0 if the kernel's table cannot be read."""
    return sum(_from_elsewhere(line.split(), port) for table in tables for line in _lines(table))


def _lines(table: Path) -> list[str]:
    try:
        return table.read_text(encoding="ascii").splitlines()[1:]
    except OSError:
        return []


def _from_elsewhere(columns: list[str], port: int) -> bool:
    """Whether a row is an open connection from elsewhere. Columns: number, local address, remote address, state; all in
    hexadecimal.
    """
    local, remote, state = columns[1:4]
    return (
        state == _ESTABLISHED
        and int(local.rpartition(":")[2], 16) == port
        and remote.rpartition(":")[0] not in _LOOPBACK
    )
