"""What of a status can be read, and what cannot. Pure.

The guard goes on from its own status, and any client with permission to patch `status` can write into it. A value that
the operator cannot have written is dropped or replaced, and reported: the reconciles of a service must not end with it,
and the guard must not follow it. The other values stay. A rollback of which only the reason is lost stays a rollback,
because that is the safe side.
"""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, TypeAlias

from pydantic import TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel

from specdec_operator.api.kept import NOT_A_TIME, NOW
from specdec_operator.api.times import is_past, to_time
from specdec_operator.guard.state import Phase, State
from specdec_operator.report.guard_status import TOLD
from specdec_operator.schema.status import UNSEEN, Status

Json: TypeAlias = dict[str, Any]
Place: TypeAlias = tuple[str | int, ...]

UNREADABLE: Final = "StateUnreadable"
_STATE: Final = TypeAdapter(State)
_ROUNDS: Final = 50
"""Values that are mended one after the other; the guard starts again from a status with more."""
_MOST: Final = 1e30
"""No number of a status is larger: sums of squares have some twenty digits."""
_MOST_COUNT: Final = 2**31 - 1
_SIGNED: Final = frozenset({"pairs", "findings", "trial", "fewerTokens", "recommendation", "speedupLow", "saved"})
_SIGNED_TOO: Final = frozenset({"kvTokensDifferencePercent", "mean"})
_COUNTS: Final = frozenset(each.name for each in fields(State) if each.type is int)
_TIMES: Final = frozenset({"at", "lastTransitionTime"})
_PARTS: Final = {
    field.alias or to_camel(name): TypeAdapter[Any](field.annotation or Any)
    for name, field in Status.model_fields.items()
    if name != "guard"
}
_WORDS: Final = 60
_MOST_TOLD: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Readable:
    """A status without what cannot be read. lost: one sentence for each value that was dropped or replaced."""

    status: Json
    lost: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        """The first of them, in one text, and how many more there are; empty if nothing was lost."""
        more = len(self.lost) - _MOST_TOLD
        return "; ".join((*self.lost[:_MOST_TOLD], *((f"and {more} more",) if more > 0 else ())))


def readable(written: Any, now: float) -> Readable:
    """What of a status can be read. now: epoch seconds. Raises nothing, whatever is in it."""
    if written is None:
        return Readable(status={})
    if not isinstance(written, Mapping):
        return Readable(status={}, lost=(_said((), written, "not an object", "all of it is started again"),))
    status, lost = dict(written), list[str]()
    for name in [each for each in status if each in _PARTS]:
        status[name] = _part(name, status[name], now, lost)
        if status[name] is None:
            del status[name]
    guard = _guard(status, now, lost)
    status = {name: part for name, part in status.items() if name != "guard"} | ({"guard": guard} if guard else {})
    return Readable(status=status, lost=tuple(lost))


def _said(place: Place, value: Any, rule: str, effect: str) -> str:
    path = "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in place)
    return f"status{path}: {repr(value)[:_WORDS]}: {rule}; {effect}"


def _part(name: str, value: Any, now: float, lost: list[str]) -> Any:
    """A part that is not the guard's. Of a list, the entries that can be read; None: nothing of it can."""
    if value is None:
        return None
    if isinstance(value, list) and not _trouble(name, [], now):
        kept = []
        for number, each in enumerate(value):
            if rule := _trouble(name, [each], now):
                lost.append(_said((name, number), each, rule, "this entry is dropped"))
            else:
                kept.append(each)
        return kept
    if rule := _trouble(name, value, now):
        lost.append(_said((name,), value, rule, "it is dropped"))
        return None
    return value


def _trouble(name: str, value: Any, now: float) -> str:
    """Why a part cannot be read; empty: it can."""
    if (found := next(_bad_numbers({name: value}), None)) is not None:
        return f"{found[-1]} is not a possible number"
    for each in value if isinstance(value, list) else ():
        for time in _TIMES & each.keys() if isinstance(each, Mapping) else ():
            if not is_past(each[time], now):
                return f"{time} is not a time between 1970 and tomorrow"
    return _rule_of(_PARTS[name], value)


def _rule_of(adapter: TypeAdapter[Any], value: Any) -> str:
    """The rule that a value breaks; empty: none."""
    try:
        adapter.validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        return ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))
    except (TypeError, ValueError, RecursionError):
        return "not JSON"
    return ""


def _bad_numbers(tree: Any, place: Place = ()) -> Iterator[Place]:
    """Places of numbers that the operator cannot have written."""
    if isinstance(tree, Mapping):
        for name, each in tree.items():
            yield from _bad_numbers(each, (*place, name))
    elif isinstance(tree, list):
        for number, each in enumerate(tree):
            yield from _bad_numbers(each, (*place, number))
    elif isinstance(tree, int | float) and not isinstance(tree, bool) and not _is_possible(tree, place):
        yield place


def _is_possible(number: float, place: Place) -> bool:
    signed = bool(_SIGNED.intersection(place)) or place[-1] in _SIGNED_TOO
    most = _MOST_COUNT if place[0] == "guard" and place[-1] in _COUNTS else _MOST
    least = UNSEEN.get(str(place[0]), 0) if len(place) == 1 else 0
    return math.isfinite(number) and (-_MOST if signed else least) <= number <= most


def _guard(status: Json, now: float, lost: list[str]) -> Json | None:
    """The guard's part, in which every value that cannot be read is replaced; None: there is none."""
    written = status.get("guard")
    if written is None:
        if "serving" in status:  # both are written at once
            lost.append(_said(("guard",), None, "missing", "the guard starts again"))
            return _anew(status, now)
        return None
    if not isinstance(written, Mapping):
        lost.append(_said(("guard",), written, "not an object", "the guard starts again"))
        return _anew(status, now)
    try:
        guard: Json = json.loads(json.dumps(written))
    except (TypeError, ValueError, RecursionError):
        lost.append(_said(("guard",), "…", "not JSON", "the guard starts again"))
        return _anew(status, now)
    for name, adapter in TOLD.items():
        _drop_told(guard, to_camel(name), adapter, lost)
    for _ in range(_ROUNDS):
        if not (found := _first_bad(guard, now)):
            return _whole(guard, now, lost)
        if found[0] == ("state",) and _is_rolled_back(status) and not guard.get("rollback"):
            guard["rollback"] = _rollback(None, now)
        lost.append(_mended(guard, *found, now))
    lost.append(_said(("guard",), "…", f"more than {_ROUNDS} values of it cannot be read", "the guard starts again"))
    return _anew({**status, "guard": guard}, now)


def _drop_told(guard: Json, name: str, adapter: TypeAdapter[Any], lost: list[str]) -> None:
    """Drops what is only shown to users, if it cannot be read: the next window shows it again."""
    value = guard.get(name)
    if value is None:
        return
    rule = "not a possible number" if any(_bad_numbers({name: value})) else _rule_of(adapter, value)
    if rule:
        lost.append(_said(("guard", name), guard.pop(name), rule, "it is dropped"))


def _first_bad(guard: Json, now: float) -> tuple[Place, str, str] | None:
    """The first value that cannot be read: its place, the rule, and the type of the error."""
    if (place := next(_bad_numbers({"guard": guard}), None)) is not None:
        return place[1:], "not a possible number", "number"
    try:
        _STATE.validate_json(json.dumps(guard), strict=True, context={NOW: now})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        return _place_in(guard, first["loc"]), first["msg"], first["type"]
    return None


def _place_in(guard: Json, loc: Place) -> Place:
    """The part of an error's place that the JSON has: what follows names a type, or is missing."""
    place: list[str | int] = []
    tree: Any = guard
    for step in loc:
        there = step in (tree if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ())
        if not there:
            return (*place, step) if isinstance(tree, dict) else tuple(place)
        place.append(step)
        tree = tree[step]
    return tuple(place)


def _mended(guard: Json, place: Place, rule: str, kind: str, now: float) -> str:
    """Replaces or drops one value; returns the sentence about it."""
    *steps, last = place
    holder: Any = guard
    for step in steps:
        holder = holder[step]
    value = holder.get(last) if isinstance(holder, dict) else holder[last]
    where = ("guard", *place)
    if kind == NOT_A_TIME or last in ("at", "since"):
        holder[last] = to_time(now)
        return _said(where, value, rule, "the time of this read is used instead")
    if place == ("state",):
        guard["state"] = (Phase.RESPONDING if guard.get("rollback") else Phase.ROLLING_OUT).value
        return _said(where, value, rule, f"the guard goes on in {guard['state']}")
    if place[0] == "rollback" and (len(place) == 1 or last in ("reason", "message")):
        guard["rollback"] = _rollback(guard["rollback"], now)
        return _said(where, value, rule, "the service stays rolled back")
    top = place[:2] if place[0] == "rollback" else place[:1]
    in_list = next((end for end, step in enumerate(place, start=1) if isinstance(step, int)), 0)
    _drop(guard, place[:in_list] if in_list > len(top) and place[0] != "rollback" else top)
    return _said(
        where, value, rule, f"{top[-1]} starts again" if not in_list else f"this entry of {top[-1]} is dropped"
    )


def _drop(tree: Any, place: Place) -> None:
    for step in place[:-1]:
        tree = tree[step]
    if isinstance(tree, dict):
        tree.pop(place[-1], None)
    else:
        del tree[place[-1]]


def _rollback(written: Any, now: float) -> Json:
    """A rollback of which reason or message is lost, or all but the fact."""
    kept = dict(written) if isinstance(written, dict) else {}
    texts = {"reason": UNREADABLE, "message": "the status of this rollback could not be read, so it stays"}
    readable_texts = {name: kept[name] for name in texts if isinstance(kept.get(name), str)}
    return {"at": to_time(now), **kept, **texts, **readable_texts}


def _whole(guard: Json, now: float, lost: list[str]) -> Json:
    """The guard's part after all values can be read: RolledBack without a decision is a rollback that was removed."""
    decided = any(guard.get(name) for name in ("rollback", "reduced", "lowered"))
    if guard.get("state") != Phase.ROLLED_BACK or decided:
        return guard
    lost.append(_said(("guard", "rollback"), None, "missing in state RolledBack", "the service stays rolled back"))
    return {**guard, "rollback": _rollback(None, now)}


def _anew(status: Json, now: float) -> Json | None:
    """The guard's part where nothing of it can be read; None: of a new service. A known rollback stays."""
    guard = status.get("guard")
    if not _is_rolled_back(status) and not (isinstance(guard, dict) and guard.get("rollback")):
        return None
    return {"state": Phase.RESPONDING.value, "since": to_time(now), "rollback": _rollback(None, now)}


def _is_rolled_back(status: Json) -> bool:
    """Whether the other parts of a status report a rollback."""
    found = status.get("conditions") or ()
    told = any(each["type"] == "RolledBack" and each["status"] == "True" for each in found)
    return told or status.get("phase") == Phase.ROLLED_BACK
