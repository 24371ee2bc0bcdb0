"""Reads the command lines of guests: off the event loop, for a limited time, and each only once.

Their owners write them, and may write anything. What was parsed is kept by its content, so that a hundred equal pods
are parsed once, and a pod whose status changes is not parsed again. What took too long is refused until it changes.
"""

import hashlib
import json
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

from specdec_operator.guest.flags import GuestEngine
from specdec_operator.guest.own_flags import OwnFlags, own_flags
from specdec_operator.guest.patch import TakenOut
from specdec_operator.guest.sizes import MOST_COMMAND_BYTES, NotRead, command_bytes, predictor_containers
from specdec_operator.guest.view import ParsedEngine, parsed_engine
from specdec_operator.names import TAKEN_OUT_ANNOTATION
from specdec_operator.process.off_loop import OffLoop

Body: TypeAlias = Mapping[str, Any]
_SECONDS: Final = 20.0
"""For one command line, which takes milliseconds, also on a node that is very busy."""
_MOST_KEPT: Final = 1024 * 1024
"""Bytes of command lines of which the results are kept: some two thousand usual ones, or sixteen of the largest."""
_AN_ENTRY: Final = 512
"""Bytes that each result counts in addition."""
_SLOW: Final = object()
"""In place of a result that took too long."""
_READ: Final = ("name", "image", "command", "args", "ports", "env", "envFrom")
"""The fields of a container that its command line is read by."""


class GuestParser:
    """What command lines ask for. seconds: that reading one may take."""

    def __init__(self, seconds: float = _SECONDS) -> None:
        self._off_loop = OffLoop(seconds)
        self._kept = _Kept(_MOST_KEPT)

    async def engine(self, namespace: str, what: str, pod: Body) -> ParsedEngine | None:
        """The engine of a pod's spec; None where it has no container. what: the object. Raises NotRead."""
        containers = [each for each in pod.get("containers") or () if isinstance(each, Mapping)]
        size = _size(what, containers)
        read = [{field: each.get(field) for field in _READ} for each in containers]
        key = ("engine", hashlib.sha256(json.dumps(read).encode()).hexdigest())
        work = partial(parsed_engine, {"containers": containers})
        found: ParsedEngine | None = await self._once(namespace, what, key, size, work)
        return found

    async def flags(self, namespace: str, what: str, live: Body) -> OwnFlags:
        """Those of an InferenceService. Raises NotRead."""
        meta, size = live["metadata"], _size(what, [*predictor_containers(live)])
        size = 2 * size + len((meta.get("annotations") or {}).get(TAKEN_OUT_ANNOTATION, ""))
        key = ("flags", str(meta.get("uid")), str(meta.get("resourceVersion")))
        found: OwnFlags = await self._once(namespace, what, key, size, partial(own_flags, live))
        return found

    async def taken(self, namespace: str, what: str, taken: TakenOut) -> GuestEngine | None:
        """The engine that the flags asked for that were taken out. Raises NotRead."""
        container = {"name": TAKEN_OUT_ANNOTATION, "args": taken.words}
        found = await self.engine(namespace, what, {"containers": [container]})
        return found.engine if found is not None else None

    async def _once(self, namespace: str, what: str, key: tuple[str, ...], size: int, work: Callable[[], Any]) -> Any:
        if (kept := self._kept.get(key)) is not None:
            result = kept[0]
        else:
            try:
                result = await self._off_loop.call(namespace, work)
            except TimeoutError:
                result = _SLOW
            self._kept.put(key, result, size + _AN_ENTRY)
        if result is _SLOW:
            rule = f"{what} has command and args that were not read within {self._off_loop.seconds:g} s"
            raise NotRead(f"{rule}: simplify them; the operator reads them again when they change")
        return result


class _Kept:
    """Results by key, those that were used last. most: the sum of their sizes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._size = 0
        self._results: OrderedDict[tuple[str, ...], tuple[Any, int]] = OrderedDict()

    def get(self, key: tuple[str, ...]) -> tuple[Any, int] | None:
        if key in self._results:
            self._results.move_to_end(key)
        return self._results.get(key)

    def put(self, key: tuple[str, ...], result: Any, size: int) -> None:
        self._size += size - self._results.pop(key, (None, 0))[1]
        self._results[key] = (result, size)
        while self._size > self._most:
            self._size -= self._results.popitem(last=False)[1][1]


def _size(what: str, containers: list[Body]) -> int:
    """The bytes of all command lines. Raises NotRead where one is too long."""
    sizes = [command_bytes(each) for each in containers]
    for container, size in zip(containers, sizes, strict=True):
        if size > MOST_COMMAND_BYTES:
            where = f"container {container['name']}" if container.get("name") else "a container"
            rule = f"{what} has {size} bytes of command and args in {where}"
            way_out = "put the script into the image or a ConfigMap, and call it"
            raise NotRead(f"{rule}, and the operator reads at most {MOST_COMMAND_BYTES}: {way_out}")
    return sum(sizes)
