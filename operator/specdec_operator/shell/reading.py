"""What a container, or a typed line, starts: the engine with its arguments and variables, and what is uncertain. Pure.

`Reading.engine` is the one engine; None: none, several, or one that only a shell knows, and `doubt` has the reason.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from specdec_operator.shell.grammar import Trouble
from specdec_operator.shell.parts import Part
from specdec_operator.shell.programs import Given
from specdec_operator.shell.values import given as given_value
from specdec_operator.shell.variables import Variable
from specdec_operator.shell.walk import EngineStart, Walk
from specdec_operator.shell.word import Word, plain

Container: TypeAlias = Mapping[str, Any]
FIELDS: Final = ("command", "args")
_MOST_SHOWN: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What was read.

    starts: the commands that start an engine, or the only one that may. before, after: other commands, as they are
    written. parts: all words and operators, comments excluded. troubles: what is not certain, and where.
    """

    starts: tuple[EngineStart, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]
    parts: tuple[Part, ...]
    troubles: tuple[Trouble, ...]

    @property
    def engine(self) -> EngineStart | None:
        """The engine, if exactly one command starts one."""
        return self.starts[0] if len(self.starts) == 1 else None

    @property
    def doubt(self) -> str:
        """Why the engine, or a part of its command line, is not certain; empty: it is."""
        if self.troubles:
            return f"the script cannot be read: {self.troubles[0]}"
        if len(self.starts) > 1:
            lines = ", ".join(str(each.line) for each in self.starts[:_MOST_SHOWN])
            return f"several commands start an engine (lines {lines})"
        if not self.starts:
            return "no command starts an engine that is known here"
        return self.starts[0].start.doubt

    @property
    def words(self) -> tuple[Word, ...]:
        """The arguments of the engine, behind its program; none if it is not certain which engine that is."""
        return self.engine.start.words if self.engine else ()

    @property
    def env(self) -> tuple[tuple[str, Variable | None], ...]:
        """The variables that the engine gets beside the container's own, or in place of them; None: without it."""
        if self.engine is None:
            return ()
        own: dict[str, Variable | None] = {
            name: Variable(value=each.value, why=each.why, text=each.text, exported=True) if each else None
            for name, each in self.engine.start.env
        }
        return tuple({**dict(self.engine.exports), **own}.items())


def items_of(container: Container) -> tuple[tuple[str, str], ...]:
    """Command and args one by one, each with the field that it stands in."""
    return tuple((field, str(each)) for field in FIELDS for each in container.get(field) or ())


def known_of(container: Container) -> dict[str, str | None]:
    """The container's variables by name; None: the value is not in the manifest."""
    return {
        str(each["name"]): str(each["value"]) if isinstance(each.get("value"), str | int | float) else None
        for each in container.get("env") or ()
        if isinstance(each, Mapping) and "name" in each
    }


def read_container(container: Container) -> Reading:
    """What a container starts by its command and args."""
    words = [plain(text, at) for at, (_, text) in enumerate(items_of(container))]
    given = Given.COMMAND if container.get("command") else Given.ARGS
    return _read(words, known_of(container), given, more=bool(container.get("envFrom")))


def read_line(words: Sequence[str]) -> Reading:
    """What a typed command line starts. One word with blanks is a script, as for a shell."""
    if len(words) == 1 and " " in words[0] and not words[0].startswith("-"):
        words = ("bash", "-c", words[0])
    return _read([plain(each, at) for at, each in enumerate(words)], {}, Given.ARGS)


def _read(words: list[Word], known: Mapping[str, str | None], given: Given, *, more: bool = False) -> Reading:
    walk = Walk(known, more=more)
    walk.run([_inserted(each, known) for each in words], given=given)
    starts = walk.starts or (walk.unknown if len(walk.unknown) == 1 else [])
    troubles = [*walk.troubles, *(walk.elsewhere if not starts else ())]
    if walk.variables.exhausted:
        troubles.append(Trouble(why="the values of its variables are too long to follow"))
    if walk.again and walk.starts:
        troubles.append(Trouble(why=walk.again))
    return Reading(
        starts=tuple(starts),
        before=tuple(walk.before),
        after=tuple(walk.after),
        parts=walk.parts(words),
        troubles=tuple(troubles),
    )


def _inserted(word: Word, known: Mapping[str, str | None]) -> Word:
    """An item with the values that Kubernetes puts in for $(NAME). A script keeps its own text: its bytes count."""
    if "\n" in word.text or " " in word.text:
        return word
    value, name = given_value(word.text, known)
    why = f"uses $({name}), whose value is not in the manifest" if name else ""
    return word if value == word.value else replace(word, value=value, why=why, verbatim=None)
