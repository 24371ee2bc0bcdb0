"""Waking the loop of one sis: nothing that happens is slept through."""

import asyncio

from specdec_operator.control.wakeups import Wakeups

KEY, OTHER = ("a", "x"), ("a", "y")


async def slept(wakeups: Wakeups, key: tuple[str, str] = KEY) -> bool:
    """Whether a wait lasts until its timeout."""
    waiting = asyncio.ensure_future(wakeups.wait(key, 0.05))
    done, _ = await asyncio.wait({waiting}, timeout=0.02)
    await waiting
    return not done


async def test_a_wake_up_while_the_loop_works_is_not_lost() -> None:
    """It ends the next wait, once."""
    wakeups = Wakeups()
    wakeups.wake(KEY)
    assert not await slept(wakeups)
    assert await slept(wakeups)


async def test_one_sis_does_not_wake_another() -> None:
    """Thousands of them share a process."""
    wakeups = Wakeups()
    wakeups.wake(OTHER)
    assert await slept(wakeups)
    assert not await slept(wakeups, OTHER)


async def test_only_another_version_wakes() -> None:
    """Our own status writes come back as events of the same generation."""
    wakeups = Wakeups()
    wakeups.wake_if_new(KEY, (1, ()))
    assert not await slept(wakeups)
    wakeups.wake_if_new(KEY, (1, ()))
    assert await slept(wakeups)
    wakeups.wake_if_new(KEY, (2, ()))
    assert not await slept(wakeups)


async def test_a_forgotten_sis_is_new_again() -> None:
    """Deleted and made again under the same name."""
    wakeups = Wakeups()
    wakeups.wake_if_new(KEY, 1)
    wakeups.forget(KEY)
    assert await slept(wakeups)
    wakeups.wake_if_new(KEY, 1)
    assert not await slept(wakeups)


async def test_a_wait_in_the_past_returns_at_once() -> None:
    """A look that is overdue."""
    await asyncio.wait_for(Wakeups().wait(KEY, -5), 1)
