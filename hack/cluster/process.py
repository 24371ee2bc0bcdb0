"""Starts long-running programs, and knows them again later: a pid alone may by then belong to a stranger.

An identity is pid, start time and boot; only a process that matches all three is ever signalled."""

import json
import os
import pathlib
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from hack.cluster.errors import ClusterError
from hack.cluster.paths import ClusterLayout

_STATE_FIELD, _START_FIELD = 2, 21
_LOG_LINES = 8
_BOOT = pathlib.Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """One process of one boot."""

    pid: int
    started: int
    boot: str


def stat_fields(text: str) -> list[str]:
    """Split /proc/PID/stat, whose second field, the program's name, may hold spaces and parentheses."""
    head, _, tail = text.rpartition(")")
    pid, _, name = head.partition("(")
    return [pid.strip(), name, *tail.split()]


def identify(pid: int) -> Identity | None:
    """Return the process that runs under this pid now; None if it has ended, even if it is still a zombie."""
    try:
        fields = stat_fields(pathlib.Path(f"/proc/{pid}/stat").read_text())
    except (FileNotFoundError, ProcessLookupError):
        return None
    if fields[_STATE_FIELD] in "ZX":
        return None
    return Identity(pid=pid, started=int(fields[_START_FIELD]), boot=_BOOT.read_text().strip())


def alive(identity: Identity | None) -> bool:
    """Return whether exactly this process still runs."""
    return identity is not None and identify(identity.pid) == identity


def remember(folder: pathlib.Path, name: str, identity: Identity) -> None:
    """Write the identity file of a process."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(asdict(identity)))


def recall(folder: pathlib.Path, name: str) -> Identity | None:
    """Read an identity file; None if it is absent or half-written."""
    try:
        return Identity(**json.loads((folder / f"{name}.json").read_text()))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def recall_all(folder: pathlib.Path) -> dict[str, Identity]:
    """Read every identity file of a folder."""
    found = {file.stem: recall(folder, file.stem) for file in sorted(folder.glob("*.json"))}
    return {name: identity for name, identity in found.items() if identity is not None}


def spawn(
    name: str,
    argv: Sequence[str],
    *,
    folder: pathlib.Path,
    log: pathlib.Path,
    env: Mapping[str, str] | None = None,
    pass_fds: Iterable[int] = (),
) -> Identity:
    """Start a program in a session of its own, so that Ctrl-C here does not reach it."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        started = subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            pass_fds=tuple(pass_fds),
            env=os.environ | dict(env or {}),
        )
    # The handle is dropped on purpose: `alive` takes a zombie for dead, and the program outlives this one.
    started.returncode = 0
    identity = identify(started.pid) or Identity(pid=started.pid, started=0, boot="")
    remember(folder, name, identity)
    return identity


def stop(identities: Iterable[Identity], *, grace: float) -> None:
    """Ask each process group to end, and end those that have not after `grace` seconds."""
    running = [identity for identity in identities if alive(identity)]
    for identity in running:
        _signal(identity, signal.SIGTERM)
    for identity in wait_gone(running, timeout=grace):
        _signal(identity, signal.SIGKILL)
    wait_gone(running, timeout=5.0)


def wait_gone(identities: Iterable[Identity], *, timeout: float) -> list[Identity]:
    """Wait until the processes have ended; return those that have not."""
    deadline = time.monotonic() + timeout
    left = list(identities)
    while left := [identity for identity in left if alive(identity)]:
        if time.monotonic() >= deadline:
            break
        time.sleep(0.02)
    return left


def until(what: str, probe: Callable[[], bool], *, layout: ClusterLayout, needs: Iterable[str], timeout: float) -> None:
    """Poll until the probe holds; stop early when one of the processes it depends on has ended."""
    deadline = time.monotonic() + timeout
    names = tuple(needs)
    while not probe():
        for name in names:
            if not alive(recall(layout.processes, name)):
                raise ClusterError(f"{name} ended while waiting for {what}. {_log_end(layout, name)}")
        if time.monotonic() >= deadline:
            ends = " ".join(_log_end(layout, name) for name in names)
            raise ClusterError(f"no {what} within {timeout:.0f} s. {ends}")
        time.sleep(0.1)


def _log_end(layout: ClusterLayout, name: str) -> str:
    file = layout.log / f"{name}.log"
    try:
        lines = file.read_text(errors="replace").splitlines()[-_LOG_LINES:]
    except FileNotFoundError:
        return f"{file} does not exist."
    return f"{file} ends with:\n" + "\n".join(lines)


def _signal(identity: Identity, number: signal.Signals) -> None:
    """Signal the group that the process leads, or, where it leads none, the process alone."""
    try:
        if os.getpgid(identity.pid) == identity.pid:
            os.killpg(identity.pid, number)
        else:
            os.kill(identity.pid, number)
    except ProcessLookupError:
        return
