"""Sums of what an engine's page counts, by kind: between two readings, of several pods, and with time. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache, reduce
from typing import Any, Final, Self, TypeVar


class Totals:
    """A dataclass whose fields are sums of one kind."""

    __slots__ = ()

    def since(self, before: Self) -> Self:
        """What was counted after `before`."""
        return type(self)(
            **{name: max(0.0, getattr(self, name) - getattr(before, name)) for name in _names(type(self))}
        )

    def plus(self, other: Self) -> Self:
        """Both together."""
        return type(self)(**{name: getattr(self, name) + getattr(other, name) for name in _names(type(self))})

    def faded(self, share: float) -> Self:
        """A share of it."""
        return type(self)(**{name: share * getattr(self, name) for name in _names(type(self))})


def _fields(kind: Any) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind))


_names: Final[Callable[[Any], tuple[str, ...]]] = cache(_fields)


_Kind = TypeVar("_Kind", int, tuple[int, int], tuple[int, int, int])
_Sums = TypeVar("_Sums", bound=Totals)


def counted_between(before: Mapping[_Kind, _Sums], after: Mapping[_Kind, _Sums]) -> Mapping[_Kind, _Sums]:
    """What was counted between two readings of a pod. Nothing if the first has none: a server may drop the series of
    one of two scrapes, and the totals are of hours.
    """
    if not before:
        return {}
    return {kind: each.since(before[kind]) if kind in before else each for kind, each in after.items()}


def added(*parts: Mapping[_Kind, _Sums]) -> Mapping[_Kind, _Sums]:
    """The sum of several pods or windows."""
    kinds = sorted({kind for part in parts for kind in part})
    return {kind: reduce(_both, (part[kind] for part in parts if kind in part)) for kind in kinds}


def _both(one: _Sums, other: _Sums) -> _Sums:
    return one.plus(other)


def faded(sums: Mapping[_Kind, _Sums], share: float) -> Mapping[_Kind, _Sums]:
    """A share of them."""
    return {kind: each.faded(share) for kind, each in sums.items()}
