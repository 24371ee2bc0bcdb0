"""A manifest from which fields are taken to be carried over. Fields that were not taken are listed by name."""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar

Step: TypeAlias = str | int
Kind = TypeVar("Kind")
_GONE: Final = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """A setting that is not carried over. field: where it stands. way_out: what to do about it."""

    field: str
    why: str
    way_out: str

    def __str__(self) -> str:
        return f"{self.field}: {self.why}: {self.way_out}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaced:
    """A setting that the operator renders itself. by: what stands in its place."""

    field: str
    by: str

    def __str__(self) -> str:
        return f"{self.field}: {self.by}"


class Manifest:
    """A parsed manifest."""

    def __init__(self, body: Any) -> None:
        self._body = copy.deepcopy(body)
        self._touched: set[tuple[Step, ...]] = set()

    def take(self, kind: type[Kind], *path: Step) -> Kind | None:
        """The value at a path; it counts as taken. None where there is none of this kind: such a value is left."""
        value = self.look(kind, *path)
        if value is None:
            return None
        self._touched |= {path[:length] for length in range(len(path))}
        holder = self._at(path[:-1])
        holder[path[-1]] = _GONE
        return value

    def look(self, kind: type[Kind], *path: Step) -> Kind | None:
        """The value at a path, which stays where it is."""
        value = self._at(path)
        fits = isinstance(value, kind) and not (kind is int and isinstance(value, bool))
        return value if fits else None

    def left(self) -> Iterator[tuple[str, Any]]:
        """Path and value of everything that was not taken, as high up as nothing below it was taken."""
        yield from self._left((), self._body)

    def _at(self, path: tuple[Step, ...]) -> Any:
        value = self._body
        for step in path:
            if isinstance(value, dict):
                value = value.get(step)
            elif isinstance(value, list) and isinstance(step, int):
                value = value[step] if step < len(value) else None
            else:
                return None
        return None if value is _GONE else value

    def _left(self, path: tuple[Step, ...], value: Any) -> Iterator[tuple[str, Any]]:
        if value is _GONE or value is None:
            return
        if path not in self._touched or not isinstance(value, dict | list):
            yield written(path), value
            return
        for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from self._left((*path, step), inner)


def written(path: tuple[Step, ...]) -> str:
    """A path as people write it: spec.predictor.containers[0].image."""
    text = ""
    for step in path:
        plain = isinstance(step, str) and "." not in step and "/" not in step
        text += f".{step}" if plain else f"[{step}]"
    return text.lstrip(".")
