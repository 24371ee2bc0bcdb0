"""How many rollouts the operator begins by itself: KServe, the registries and the devices have to bear them together.

Fifty drafts that become useless at once are fifty rollouts. A new version of the operator with other engine flags is
one rollout of every service. What a user requests never waits.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from itertools import chain, islice
from typing import Final

from specdec_operator.names import Key

_HELD: Final = 60.0
"""Seconds after which a rollout that has not ended keeps no other one waiting: most take longer than that."""


class RolloutRequest(Enum):
    """What a rollout requests from the throttle. NONE: nothing, because a user requested it, or because there is no
    rollout.
    """

    NONE = auto()
    ORDINARY = auto()
    URGENT = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """What the throttle would answer to a service now: why a rollout waits, by its request; empty: it may begin."""

    ordinary: str = ""
    urgent: str = ""

    def answer(self, request: RolloutRequest) -> str:
        """The answer to one request."""
        return {RolloutRequest.NONE: "", RolloutRequest.ORDINARY: self.ordinary, RolloutRequest.URGENT: self.urgent}[
            request
        ]


class Throttle:
    """Who may begin, in the order in which they asked; the urgent ones first.

    most: rollouts at once; 0: any number. wake: called with a service whose turn may have come.
    """

    def __init__(self, most: int, wake: Callable[[Key], None]) -> None:
        self._most = most
        self._wake = wake
        self._begun: dict[Key, float] = {}
        self._urgent: dict[Key, None] = {}
        self._ordinary: dict[Key, None] = {}

    def ticket(self, key: Key, now: float) -> Ticket:
        """What would be answered to a service now. Nothing changes by asking."""
        self._begun = {each: at for each, at in self._begun.items() if 0 <= now - at < _HELD}
        if not self._most or key in self._begun:
            return Ticket()
        urgent, ordinary = dict(self._urgent), dict(self._ordinary)
        first = self._next(urgent, ordinary | {key: None})
        first_urgent = self._next(urgent | {key: None}, ordinary)
        waits = self._why(key)
        return Ticket(ordinary="" if key in first else waits, urgent="" if key in first_urgent else waits)

    def settle(self, key: Key, request: RolloutRequest, *, waits: bool, now: float) -> None:
        """Records what a service decided by its ticket: it waits, it begins, or it requests nothing."""
        if waits:
            queue = self._urgent if request is RolloutRequest.URGENT else self._ordinary
            queue.setdefault(key)
            return
        self._leave(key)
        if request is not RolloutRequest.NONE and self._most:
            self._begun.setdefault(key, now)

    def seconds(self, now: float) -> float:
        """Until the next turn comes by itself, if no rollout ends before."""
        return max(1.0, min(self._begun.values(), default=now) + _HELD - now)

    def ended(self, key: Key) -> None:
        """The rollout of a service is over, or it is not wanted any more."""
        self._leave(key)
        if self._begun.pop(key, None) is not None:
            for each in self._next(self._urgent, self._ordinary):
                self._wake(each)

    def _leave(self, key: Key) -> None:
        self._urgent.pop(key, None)
        self._ordinary.pop(key, None)

    def _why(self, key: Key) -> str:
        waiting = len({*self._urgent, *self._ordinary, key})
        return (
            f"waiting for its turn: the operator's rollouts in progress are {len(self._begun)}, the limit is "
            f"{self._most} (SPECDEC_ROLLOUTS), {waiting} services wait"
        )

    def _next(self, urgent: dict[Key, None], ordinary: dict[Key, None]) -> tuple[Key, ...]:
        free = max(0, self._most - len(self._begun))
        return tuple(islice(dict.fromkeys(chain(urgent, ordinary)), free))
