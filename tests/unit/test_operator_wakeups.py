"""Waking the loop of one sis: nothing that happens is slept through."""

import asyncio

from specdec_operator.control.wakeups import Wakeups

KEY, OTHER = ("a", "x"), ("a", "y")


def followed(*keys: tuple[str, str]) -> Wakeups:
    """With loops that run."""
    wakeups = Wakeups()
    for key in keys:
        wakeups.follow(key)
    return wakeups


async def slept(wakeups: Wakeups, key: tuple[str, str] = KEY) -> bool:
    """Whether a wait lasts until its timeout."""
    waiting = asyncio.ensure_future(wakeups.wait(key, 0.05))
    done, _ = await asyncio.wait({waiting}, timeout=0.02)
    await waiting
    return not done


async def test_a_wake_up_while_the_loop_works_is_not_lost() -> None:
    """It ends the next wait, once."""
    wakeups = followed(KEY)
    wakeups.wake(KEY)
    assert not await slept(wakeups)
    assert await slept(wakeups)


async def test_one_sis_does_not_wake_another() -> None:
    """Thousands of them share a process."""
    wakeups = followed(KEY, OTHER)
    wakeups.wake(OTHER)
    assert await slept(wakeups)
    assert not await slept(wakeups, OTHER)


async def test_only_another_version_wakes() -> None:
    """Our own status writes come back as events of the same generation."""
    wakeups = followed(KEY)
    wakeups.wake_if_new(KEY, (1, ()))
    assert not await slept(wakeups)
    wakeups.wake_if_new(KEY, (1, ()))
    assert await slept(wakeups)
    wakeups.wake_if_new(KEY, (2, ()))
    assert not await slept(wakeups)


async def test_a_forgotten_sis_is_new_again() -> None:
    """Deleted and made again under the same name."""
    wakeups = followed(KEY)
    wakeups.wake_if_new(KEY, 1)
    wakeups.forget(KEY)
    assert await slept(wakeups)
    wakeups.wake_if_new(KEY, 1)
    assert not await slept(wakeups)


async def test_what_is_left_of_a_forgotten_sis_wakes_nobody_and_is_not_kept() -> None:
    """Its pods go after it, and each tells so; a name that never comes back would stay for ever."""
    wakeups = followed(KEY)
    wakeups.forget(KEY)
    wakeups.wake(KEY)
    assert not wakeups.follows(KEY)
    assert await slept(wakeups)


async def test_a_wait_in_the_past_returns_at_once() -> None:
    """A look that is overdue."""
    await asyncio.wait_for(Wakeups().wait(KEY, -5), 1)
