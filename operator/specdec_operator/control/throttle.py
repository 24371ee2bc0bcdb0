"""How many rollouts the operator begins by itself: KServe, the registries and the devices have to bear them together.

Fifty drafts that become useless at once are fifty rollouts, and a new version of the operator that says something else
to the engines is one of every service. What a user asks for is never kept waiting.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import chain, islice
from typing import Final

from specdec_operator.control.memory import Memory
from specdec_operator.control.sis import Sis
from specdec_operator.control.stores import Child
from specdec_operator.control.wakeups import Key
from specdec_operator.control.wish import Turns
from specdec_operator.guard.state import Phase, State
from specdec_operator.serving.render import Rendered

_HELD: Final = 60.0
"""Seconds after which a rollout that has not ended keeps no other one waiting: most take longer than that."""


class Throttle:
    """Who may begin, in the order in which they asked; the urgent ones first.

    most: rollouts at once; 0: any number. wake: called with a sis whose turn may have come.
    """

    def __init__(self, most: int, wake: Callable[[Key], None]) -> None:
        self._most = most
        self._wake = wake
        self._begun: dict[Key, float] = {}
        self._urgent: dict[Key, None] = {}
        self._patient: dict[Key, None] = {}

    def may_begin(self, key: Key, *, urgent: bool, now: float) -> bool:
        """Whether the rollout of a sis may begin, or has begun; otherwise it waits for its turn."""
        if not self._most:
            return True
        self._begun = {each: at for each, at in self._begun.items() if 0 <= now - at < _HELD}
        if key in self._begun:
            return True
        (self._urgent if urgent else self._patient).setdefault(key)
        if key not in self._next():
            return False
        self.leave(key)
        self._begun[key] = now
        return True

    def leave(self, key: Key) -> None:
        """A sis waits no longer."""
        self._urgent.pop(key, None)
        self._patient.pop(key, None)

    def seconds(self, now: float) -> float:
        """Until the next turn comes by itself, if no rollout ends before."""
        return max(1.0, min(self._begun.values(), default=now) + _HELD - now)

    def ended(self, key: Key) -> None:
        """The rollout of a sis is over, or it is not wanted any more."""
        self.leave(key)
        if self._begun.pop(key, None) is not None:
            for each in tuple(self._next()):
                self._wake(each)

    def words(self) -> str:
        """Why others wait, in a sentence."""
        waiting = len(self._urgent) + len(self._patient)
        return (
            f"waits for its turn: {len(self._begun)} rollouts that the operator began are under way, "
            f"{self._most} may be (SPECDEC_ROLLOUTS), {waiting} wait"
        )

    def _next(self) -> tuple[Key, ...]:
        free = max(0, self._most - len(self._begun))
        return tuple(islice(chain(self._urgent, self._patient), free))


def turns_of(throttle: Throttle, key: Key, memory: Memory, sis: Sis, child: Child | None, now: float) -> Turns:
    """When the rollout of a sis may begin; its deadline counts from there."""

    def turn(rendered: Rendered, state: State) -> State | str:
        if not _is_own(sis, memory, child, rendered.revision):
            throttle.leave(key)
            memory.waits = False
        elif not throttle.may_begin(key, urgent=state.phase is Phase.RESPONDING, now=now):
            memory.waits = True
            return throttle.words()
        waited, memory.waits = memory.waits, False
        return replace(state, wanted_since=now) if waited else state

    return turn


def _is_own(sis: Sis, memory: Memory, child: Child | None, revision: str) -> bool:
    """Whether other pods are to replace those that run, and no change of the spec asked for that."""
    known = (memory.written or {}).get("observedGeneration")
    return child is not None and not child.deleted and child.revision != revision and known == sis.generation
