"""`specdec watch` against a real API server, in a pipe and in a terminal."""

import asyncio
import os
import pathlib
import pty
import signal
from collections.abc import Callable

import pytest

from tests.wire.api import SIS, Object
from tests.wire.command import WATCHING, Command, report
from tests.wire.faults.proxy import Proxy
from tests.wire.install import grant, make_account, operator_kubeconfig
from tests.wire.waiting import PATIENCE, until
from tests.wire.world import NAME, World, sis


async def _line(stream: asyncio.StreamReader | None) -> str:
    assert stream is not None
    return (await asyncio.wait_for(stream.readline(), PATIENCE)).decode()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
async def test_a_watch_in_a_pipe_is_a_line_a_change_until_it_is_ended(
    how: signal.Signals, world: World, kubeconfig: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    """Users end it with Ctrl-C, so it is not an error."""
    await world.apply(sis())
    await report(world, WATCHING)
    pipe = asyncio.subprocess.PIPE
    account = await make_account(world.api, world.namespace)  # its token goes through a proxy
    all_of_it: Object = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    await grant(world.api, account, [all_of_it], within=world.namespace)
    user = await operator_kubeconfig(world.api, kubeconfig, tmp_path / "kubeconfig", account=account)
    async with Proxy(kubeconfig) as proxy:
        specdec = Command(proxy.through(user, tmp_path / "through"), world.namespace)
        process = await specdec.start("watch", NAME, stdout=pipe, stderr=pipe)
        assert " Watching Accepted draft_model K=4 accept=0.78 speedup=1.50 " in await _line(process.stdout)
        await _looks_again(proxy)
        await report(world, {"phase": "RolledBack", "reason": "AcceptanceRateLow", "message": "so low"})
        assert " RolledBack AcceptanceRateLow " in await _line(process.stdout)
        process.send_signal(how)
        out, err = await asyncio.wait_for(process.communicate(), PATIENCE)
    assert (process.returncode, out, err) == (0, b"", b"")


async def _looks_again(proxy: Proxy) -> None:
    """Waits until the command sends its second request from now on: by then it has printed all that it had to print."""
    before = len(proxy.requests)

    async def asked() -> bool:
        return len(proxy.requests) >= before + 2

    await until("two more looks", asked)


async def test_a_watch_ends_when_its_service_is_gone(world: World, specdec: Command) -> None:
    """There is nothing more to see; exit code 1 and why."""
    await world.apply(sis())
    pipe = asyncio.subprocess.PIPE
    process = await specdec.start("watch", NAME, stdout=pipe, stderr=pipe)
    await _line(process.stdout)
    await world.api.delete(SIS, world.namespace, NAME)
    _, err = await asyncio.wait_for(process.communicate(), PATIENCE)
    assert process.returncode == 1
    assert err.decode().startswith(f"error: namespace {world.namespace} has no service {NAME}")


async def test_a_watch_leaves_a_terminal_as_it_was(world: World, specdec: Command) -> None:
    """The alternate screen is left, the cursor is back, and the last page stays in sight."""
    await world.apply(sis())
    await report(world, WATCHING)
    ours, theirs = pty.openpty()
    process = await specdec.start("watch", NAME, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    seen = bytearray()
    await _read(ours, seen, lambda: b"Acceptance by position" in seen)
    process.send_signal(signal.SIGINT)
    await _read(ours, seen, lambda: False)
    assert await asyncio.wait_for(process.wait(), PATIENCE) == 0
    os.close(ours)
    left = seen.rindex(b"\x1b[?1049l")
    assert seen.rindex(b"\x1b[?25h") > seen.rindex(b"\x1b[?25l")
    assert b"Acceptance by position" in seen[left:]
    assert b"Traceback" not in seen


async def _read(terminal: int, into: bytearray, enough: Callable[[], bool]) -> None:
    """Reads until it is enough, or the other side is closed."""
    try:
        while not enough():
            into += await asyncio.wait_for(asyncio.to_thread(os.read, terminal, 65536), PATIENCE)
    except OSError:  # a pseudo-terminal reports a closed other end with this error
        return
