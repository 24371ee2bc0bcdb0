"""Who may read now: a bounded number of reads at once, of which no namespace holds more than its share."""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeAlias

_Waiting: TypeAlias = deque[asyncio.Future[None]]


class Places:
    """So many reads at once. Namespaces take turns, and one of them holds half of the places at most.

    The other half keeps a tenant's pods that hang from delaying another tenant: each of them holds its place for the
    whole timeout, and there may be hundreds. limit: reads at once, of all namespaces together.
    """

    def __init__(self, limit: int) -> None:
        self._free = limit
        self._most = max(1, limit // 2)
        self._held: Counter[str] = Counter()
        self._waiting: OrderedDict[str, _Waiting] = OrderedDict()

    @asynccontextmanager
    async def place(self, namespace: str) -> AsyncIterator[None]:
        """One place for this namespace, for as long as the block runs; waits for it."""
        await self._take(namespace)
        try:
            yield
        finally:
            self._give_back(namespace)

    async def _take(self, namespace: str) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(namespace, deque()).append(turn)
        self._call()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # it was called, and will not come
                self._give_back(namespace)
            raise

    def _give_back(self, namespace: str) -> None:
        self._free += 1
        self._held[namespace] -= 1
        if not self._held[namespace]:
            del self._held[namespace]
        self._call()

    def _call(self) -> None:
        """Calls those whose turn it is, while there are places. A namespace that was called goes to the end."""
        while self._free and (namespace := self._next()) is not None:
            line = self._waiting.pop(namespace)
            turn = line.popleft()
            if line:
                self._waiting[namespace] = line
            if not turn.done():  # else the waiting task has ended
                self._free -= 1
                self._held[namespace] += 1
                turn.set_result(None)

    def _next(self) -> str | None:
        """The namespace whose turn it is; those that hold their share are passed over."""
        return next((each for each in self._waiting if self._held[each] < self._most), None)
