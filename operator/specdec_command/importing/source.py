"""One object as the InferenceService that would run the same pods, and where each of its fields was written."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from specdec_command.importing.manifest import Lost, Replaced

_AFTER: Final = (".", "[", " ")
"""Characters behind a whole step of a path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """An object that runs an engine. body: as an InferenceService. kind: of the object itself.

    written: part of a path in `body` -> where that was written, if elsewhere. flags_known: whether `body` has all flags
    of the engine; otherwise a ServingRuntime that was not read adds its own. why_not: why there cannot be a service.
    """

    body: Mapping[str, Any]
    kind: str = "InferenceService"
    written: Mapping[str, str] = field(default_factory=dict)
    flags_known: bool = False
    lost: tuple[Lost, ...] = ()
    replaced: tuple[Replaced, ...] = ()
    notes: tuple[str, ...] = ()
    why_not: tuple[str, ...] = ()

    @property
    def guard(self) -> str:
        """The command that prints the guard of the object."""
        return guard_command(self.body, "deploy" if self.kind == "Deployment" else "isvc")

    @property
    def way_out(self) -> str:
        """What to do if there cannot be a service."""
        what = self.kind if self.body else "service"
        return f"guard the existing {what}: `{self.guard}`"

    def place(self, path: str) -> str:
        """Where the user finds a path of `body`."""
        fitting = [
            each for each in self.written if path == each or path.startswith(tuple(each + end for end in _AFTER))
        ]
        nearest = max(fitting, key=len, default=None)
        return path if nearest is None else self.written[nearest] + path[len(nearest) :]

    def lost_there(self, every: Iterable[Lost]) -> tuple[Lost, ...]:
        """The same losses, each at the place where the user finds it."""
        return tuple(replace(each, field=self.place(each.field)) for each in every)

    def replaced_there(self, every: Iterable[Replaced]) -> tuple[Replaced, ...]:
        """The same replacements, each at the place where the user finds it."""
        return tuple(replace(each, field=self.place(each.field)) for each in every)


_LISTS: Final = ("command", "args", "env")


def readable(container: Any) -> dict[str, Any]:
    """A container without what is not a list where Kubernetes has one."""
    every = container.items() if isinstance(container, Mapping) else ()
    return {key: value for key, value in every if key not in _LISTS or isinstance(value, list)}


def guard_command(body: Mapping[str, Any], kind: str, suffix: str = "") -> str:
    """`specdec guard KIND/NAME` with the namespace of an object. suffix: of the name of what is guarded."""
    name, namespace = named(body)
    return f"specdec guard {kind}/{name or 'NAME'}{suffix}" + (f" -n {namespace}" if namespace else "")


def named(body: Mapping[str, Any]) -> tuple[str, str]:
    """Name and namespace of an object; empty if it has none."""
    meta = body.get("metadata")
    meta = meta if isinstance(meta, Mapping) else {}
    return str(meta.get("name") or ""), str(meta.get("namespace") or "")
