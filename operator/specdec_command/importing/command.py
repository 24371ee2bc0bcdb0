"""vLLM's own arguments out of a container's command line, which may be a script for a shell."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from specdec_command.importing.manifest import Lost
from specdec_command.importing.secrets import is_secret_name
from specdec_engine.command_line import stray_words
from specdec_operator.engine.build import build_of
from specdec_operator.guest.sizes import MOST_COMMAND_BYTES, command_bytes
from specdec_operator.shell.programs import Kind
from specdec_operator.shell.reading import Reading, read_container, read_line
from specdec_operator.shell.word import Word

_LONG_SCRIPT: Final = "put the script into the image or a ConfigMap, and call it"
_OWN_SCRIPT: Final = "move it to the image or to an init container of the runtime"
_ADD_FLAG: Final = "add the flag with its value to spec.engine.args"
_HIDE_VALUE: Final = "put it into a Secret, and read it in spec.engine.env; VLLM_API_KEY is --api-key"
_ONE_WORD: Final = re.compile(r"(?P<first>--?[A-Za-z][\w.-]*)(?:\s+\S.*|=[^\s{\[\"']*\s+--?[A-Za-z].*)", re.DOTALL)
"""A flag and its value, or several flags, in one word."""
_POSITIONAL: Final = (Kind.VLLM, Kind.IMAGE, Kind.CONTAINER)
"""Programs that take the model as a word of its own."""
_UNNAMED: Final = (Kind.IMAGE, Kind.OTHER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """words: vLLM's, without the program. program: whether they name it; else a runtime does, with flags of its own.

    model: the one that stands alone behind `serve`. env: set by the script. changed: all that it sets or unsets: the
    container's own values of these do not reach vLLM.
    """

    words: tuple[str, ...]
    program: bool = False
    model: str | None = None
    env: tuple[tuple[str, str], ...] = ()
    changed: frozenset[str] = frozenset()
    lost: tuple[Lost, ...] = ()


def command_of(container: Mapping[str, Any], field: str) -> Command:
    """The command line of a container. field: where the container stands."""
    if (size := command_bytes(container)) > MOST_COMMAND_BYTES:
        why = f"command and args have {size} bytes, and at most {MOST_COMMAND_BYTES} are read"
        return Command(words=(), lost=(Lost(field=field, why=why, way_out=_LONG_SCRIPT),))
    return _command(read_container(container), field)


def line(words: Sequence[str]) -> Command:
    """The command line that a user typed; one word with spaces in it is read as a shell does."""
    return _command(read_line(words), "command line")


def _command(reading: Reading, field: str) -> Command:
    """The arguments of the engine that was read, and everything else as lost."""
    lost = [*_uncertain(reading, field), *_others(reading, field)]
    if reading.engine is None:
        return Command(words=(), lost=tuple(lost))
    start = reading.engine.start
    words = tuple(_certain(start.words, field, lost))
    model, words = _model(words, start.kind, field, lost)
    env = tuple(_variables(reading, lost))
    changed = frozenset(name for name, _ in reading.env)
    program = start.kind not in _UNNAMED
    return Command(words=words, program=program, model=model, env=env, changed=changed, lost=tuple(lost))


def _variables(reading: Reading, lost: list[Lost]) -> Iterator[tuple[str, str]]:
    """The variables that the script sets. Those whose value only a shell knows are listed."""
    for name, each in reading.env:
        if each is None:
            continue
        if each.value is None or each.exported is None:
            why = f"it {each.why}" if each.why else "only a shell knows its value"
            lost.append(Lost(field=f"{name}={each.text}", why=why, way_out="set it in spec.engine.env"))
        else:
            yield name, each.value


def _uncertain(reading: Reading, field: str) -> Iterator[Lost]:
    """Why the engine is not known, or is not certain."""
    if reading.doubt and reading.parts:
        way_out = "import the flags of the engine: specdec import -- FLAGS; or guard the existing service"
        yield Lost(field=field, why=reading.doubt, way_out=way_out)


def _others(reading: Reading, field: str) -> Iterator[Lost]:
    """The other commands of a script, and options of `docker run`."""
    for each in reading.before:
        yield Lost(field=field, why=f"`{each}` runs before vLLM starts", way_out=_OWN_SCRIPT)
    for each in reading.after:
        yield Lost(field=field, why=f"`{each}` is another command of the script", way_out=_OWN_SCRIPT)
    for each in reading.engine.start.beside if reading.engine else ():
        variable = each.startswith(("-e ", "--env"))
        way_out = "set it in spec.engine.env" if variable else "set what is like it in spec.pod, or remove it"
        yield Lost(field=field, why=f"`{each}` is an option of the container, not of vLLM", way_out=way_out)


def _certain(words: Sequence[Word], field: str, lost: list[Lost]) -> Iterator[str]:
    """The words with their values. A flag whose value only a shell knows is left out and listed."""
    rest = list(reversed(words))
    while rest:
        word = rest.pop()
        text = word.text if word.value is None else word.value
        flag = text.startswith("-") and "=" not in text and rest and not _starts(rest[-1])
        several = [word, rest.pop()] if flag else [word]
        unknown = next((each for each in several if each.value is None), None)
        if unknown is None:
            yield from (each.value for each in several if each.value is not None)
            continue
        written = " ".join(each.text for each in several)
        way_out = _HIDE_VALUE if is_secret_name(text.partition("=")[0]) else _ADD_FLAG
        lost.append(Lost(field=field, why=f"`{written}` {_why(unknown)}", way_out=way_out))


def _starts(word: Word) -> bool:
    return (word.text if word.value is None else word.value).startswith("-")


def _why(word: Word) -> str:
    """The reason, in the form that the list of an import has."""
    variable = word.why.endswith("not in the manifest")
    return "uses a variable whose value is not in the manifest" if variable else word.why


def _model(words: tuple[str, ...], kind: Kind, field: str, lost: list[Lost]) -> tuple[str | None, tuple[str, ...]]:
    """The model that stands alone, and the flags. Words that vLLM refuses are listed."""
    kept = []
    for each in words:
        if found := _ONE_WORD.fullmatch(each):
            several = each.startswith(f"{found['first']}=")
            taken = f"all of it for the value of {found['first']}" if several else "it for a model name"
            way_out = "write a list item for each flag" if several else "write two list items"
            lost.append(Lost(field=field, why=f"`{each}` is one word; vLLM takes {taken}", way_out=way_out))
        else:
            kept.append(each)
    model = None
    for each in stray_words(kept, build_of("nvidia", None)):
        if model is None and kind in _POSITIONAL:
            model = each
        else:
            why = f"`{each}` is not a flag and not the value of one, and vLLM refuses it"
            lost.append(Lost(field=field, why=why, way_out="remove it"))
    return model, tuple(kept[1:] if kept[:1] == [model] else kept)
