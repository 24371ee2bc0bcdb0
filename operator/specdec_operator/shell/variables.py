"""The variables of a script while it is read, and what each is at most. Changes of a branch can be taken back.

Nothing is copied: a branch notes what it changes. So a script of many branches costs no more than its length.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from specdec_operator.shell.word import Word, hint_of

_MOST_BYTES: Final = 1 << 20
"""Of all values of a script together: `A=$A$A` doubles with each line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """A variable of a shell. value: None if only a shell knows it. words: of an array. hint: texts that it may have.

    exported: whether programs get it; None: only a shell knows. here: whether the script set it.
    """

    value: str | None = None
    words: tuple[Word, ...] | None = None
    exported: bool | None = False
    why: str = ""
    hint: str = ""
    text: str = ""
    here: bool = True


class Variables:
    """The variables at one point of a script.

    known: of the container, by name; None: the manifest does not have the value. more: whether the container may have
    others, by envFrom. arguments: of the script or function, None if only a shell knows them. program: the script's $0.
    """

    def __init__(self, known: Mapping[str, str | None], *, more: bool = False) -> None:
        self.known = known
        self.more = more
        self.program: Word | None = None
        self.arguments: tuple[Word, ...] | None = None
        self.exports_all = False
        self._now: dict[str, Variable | None] = {}
        self._changes: list[tuple[str, Variable | None, bool]] = []
        self._left = _MOST_BYTES

    def get(self, name: str) -> Variable | None:
        """A variable; None: no part of the script or the manifest sets it."""
        if name in self._now:
            return self._now[name]
        if name not in self.known:
            why = f"uses {name}, which envFrom may set"
            return Variable(exported=None, why=why, here=False) if self.more else None
        value = self.known[name]
        why = "" if value is not None else f"uses {name}, whose value is not in the manifest"
        return Variable(value=value, exported=True, why=why, here=False)

    def set(self, name: str, made: Variable | None) -> None:
        """Sets a variable; None: unset."""
        self._changes.append((name, self._now.get(name), name in self._now))
        self._now[name] = made

    def may_change(self, names: Iterable[str], why: str) -> None:
        """From here on only a shell knows these."""
        for name in dict.fromkeys(names):
            before = self.get(name)
            exported = before.exported if before else False
            hint = before.hint or before.text if before else ""
            self.set(name, Variable(why=f"uses {name}, which {why}", exported=exported, hint=hint))

    def mark(self) -> int:
        """A point to which `undo` returns."""
        return len(self._changes)

    def undo(self, mark: int) -> dict[str, Variable | None]:
        """Takes back what changed since. Returns the variables as they were before that."""
        changed = {name: self._now[name] for name, _, _ in self._changes[mark:]}
        for name, before, there in reversed(self._changes[mark:]):
            if there:
                self._now[name] = before
            else:
                del self._now[name]
        del self._changes[mark:]
        return changed

    def join(self, branches: Iterable[Mapping[str, Variable | None]], line: int) -> None:
        """After branches of which only a shell knows which one runs."""
        possible: dict[str, list[Variable]] = {}
        for branch in branches:
            for name, found in branch.items():
                possible.setdefault(name, []).append(found or Variable())
        for name, each in possible.items():
            before = self.get(name)
            some = [*each, *([before] if before else [])]
            exported = {bool(one.exported) for one in some} | ({False} if before is None else set())
            hint = hint_of(*(one.hint or one.text for one in some))
            why = f"uses {name}, which is set in a branch (line {line})"
            text = next((one.text for one in each), "")
            agreed = next(iter(exported)) if len(exported) == 1 else None
            self.set(name, Variable(why=why, exported=agreed, hint=hint, text=text))

    def spend(self, size: int) -> bool:
        """Whether a value of this size may still be made."""
        self._left -= size
        return self._left >= 0

    @property
    def exhausted(self) -> bool:
        """Whether values were left out, because all of them together are too long."""
        return self._left < 0

    def exported(self) -> dict[str, Variable | None]:
        """What the script gives to programs, also in place of the container's own; None: it takes that one away."""
        given = {name: each for name, each in self._now.items() if each is None or each.here}
        return {
            name: each if each and each.exported is not False else None
            for name, each in given.items()
            if name in self.known or (each and each.exported is not False)
        }

    def export(self, name: str) -> None:
        """`export NAME`."""
        before = self.get(name)
        if before is not None and before.here:
            self.set(name, replace(before, exported=True))
