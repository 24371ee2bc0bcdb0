"""vLLM's own arguments out of a container's command line, which may be a script for a shell."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from specdec_command.importing.manifest import Lost
from specdec_operator.guest.flags import parts, split, words_of
from specdec_operator.guest.sizes import MOST_COMMAND_BYTES, command_bytes

_BEFORE: Final = re.compile(
    r"(.*/)?((ba|da|z|a)?sh|python[0-9.]*|vllm|env)|exec|export|set|-[a-z]*c|-m|-[eux]+|-o|pipefail|&&|;|--|serve|"
    r"vllm\.entrypoints.*|nohup"
)
"""Words in front of vLLM's that set nothing."""
_ASSIGNED: Final = re.compile(r"([A-Za-z_]\w*)=(.*);?", re.DOTALL)
_ENDS: Final = re.compile(r"&&|\|\|?|;|&|[0-9]?>>?.*|<.*")
"""A word of a shell behind which another command or a file begins."""
_GIVEN: Final = re.compile(r"\$\((\w+)\)")
_SHELLS: Final = re.compile(r"\$\{?(\w+)(?::?-([^}]*))?\}?")
_LONG_SCRIPT: Final = "put the script into the image or a ConfigMap, and call it"
_OWN_SCRIPT: Final = "move it to the image or to an init container of the runtime"


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """words: vLLM's, without the program. program: whether they name it; else a runtime does, with flags of its own.

    model: the one that stands alone behind `serve`. env: set by the script.
    """

    words: tuple[str, ...]
    program: bool = False
    model: str | None = None
    env: tuple[tuple[str, str], ...] = ()
    lost: tuple[Lost, ...] = ()


def command_of(container: Mapping[str, Any], field: str) -> Command:
    """The command line of a container. field: where the container stands."""
    if (size := command_bytes(container)) > MOST_COMMAND_BYTES:
        why = f"command and args have {size} bytes, and at most {MOST_COMMAND_BYTES} are read"
        return Command(words=(), lost=(Lost(field=field, why=why, way_out=_LONG_SCRIPT),))
    script = any(is_script for _, is_script in parts(container))
    known = {
        str(each["name"]): str(each["value"])
        for each in container.get("env") or ()
        if isinstance(each, Mapping) and "name" in each and "value" in each
    }
    return read(words_of(container), field, known, script=script)


def line(words: Sequence[str]) -> Command:
    """The command line that a user typed; one word with spaces in it is split as a shell does."""
    if len(words) == 1 and " " in words[0] and not words[0].startswith("-"):
        words = split(words[0])
    return read(tuple(words), "command line", {}, script=True)


def read(words: Sequence[str], field: str, known: Mapping[str, str], *, script: bool) -> Command:
    """vLLM's arguments among these. known: variables with their values. script: whether a shell reads the words."""
    starts = [at for at, word in enumerate(words) if word == "serve" or word.startswith("vllm.entrypoints")]
    start = starts[0] + 1 if starts else 0
    own, after = _until_end(words[start:]) if script else (tuple(words[start:]), ())
    env, lost = _before(words[:start], field)
    if after:
        why = f"`{' '.join(after)}` is another command of the script"
        lost.append(Lost(field=field, why=why, way_out=_OWN_SCRIPT))
    text = " ".join(own)
    own = tuple(_with_values(own, {**known, **dict(env)}, field, lost, script=script))
    env = [(name, value) for name, value in env if not re.search(rf"\$\{{?{name}\b", text)]  # only the script's own
    named = bool(starts) and words[start - 1] == "serve" and bool(own) and not own[0].startswith("-")
    return Command(
        words=own[named:], program=bool(starts), model=own[0] if named else None, env=tuple(env), lost=tuple(lost)
    )


def _until_end(words: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    end = next((at for at, word in enumerate(words) if _ENDS.fullmatch(word)), len(words))
    return tuple(words[:end]), tuple(words[end:])


def _before(words: Sequence[str], field: str) -> tuple[list[tuple[str, str]], list[Lost]]:
    """The variables that a script sets, and what else it does before vLLM starts."""
    env: list[tuple[str, str]] = []
    rest = []
    for word in words:
        if found := _ASSIGNED.fullmatch(word):
            env.append((found[1], found[2].rstrip(";")))
        elif not _BEFORE.fullmatch(word.rstrip(";") or ";"):
            rest.append(word)
    if not rest:
        return env, []
    why = f"`{' '.join(rest)}` runs before vLLM starts"
    return env, [Lost(field=field, why=why, way_out=_OWN_SCRIPT)]


def _with_values(
    words: Sequence[str], known: Mapping[str, str], field: str, lost: list[Lost], *, script: bool
) -> Iterator[str]:
    """The words with their variables replaced. A flag whose variable has no value here is removed and listed."""
    rest = list(words)
    while rest:
        word = rest.pop(0)
        flag = word.startswith("-") and "=" not in word and rest and not rest[0].startswith("-")
        several = [word, rest.pop(0)] if flag else [word]
        filled = [_filled(each, known, script=script) for each in several]
        if all(each is not None for each in filled):
            yield from (each for each in filled if each is not None)
            continue
        why = f"`{' '.join(several)}` uses a variable whose value is not in the manifest"
        lost.append(Lost(field=field, why=why, way_out="add the flag with its value to spec.engine.args"))


def _filled(word: str, known: Mapping[str, str], *, script: bool) -> str | None:
    missing = False

    def value(found: re.Match[str]) -> str:
        nonlocal missing
        default = found[2] if found.re is _SHELLS else None
        if (text := known.get(found[1], default)) is None:
            missing = True
        return text or ""

    word = _GIVEN.sub(value, word)
    word = _SHELLS.sub(value, word) if script else word
    return None if missing else word
