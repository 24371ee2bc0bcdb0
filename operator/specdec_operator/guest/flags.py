"""The command line of an engine that another owner wrote: in command and args, or in a script for a shell."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from specdec_engine import command_line
from specdec_engine.case import Case, Json
from specdec_engine.resolve import resolve
from specdec_operator.engine.build import build_of
from specdec_operator.observe.pods import ENGINE_CONTAINER, ENGINE_PORT

Container: TypeAlias = Mapping[str, Any]
_WORD: Final = re.compile(r"""(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+""", re.DOTALL)
"""A word of a script, with its quotes."""
_SHELL: Final = re.compile(r"(?:.*/)?(?:ba|da|z|k|a)?sh")
_SCRIPT: Final = re.compile(r"-[a-z]*c")
"""The flag of a shell whose value is a script, alone or with others: -c, -ec, -lc."""
_ABOUT: Final = re.compile(
    r"(?:--speculative[-_]config|-sc|--spec[-_](?:method|model|tokens))(?P<key>[.][^=]*)?(?P<value>=.*)?", re.DOTALL
)
_VLLM_PORT: Final = 8000
"""Where vLLM listens by itself."""
_LAST_PORT: Final = 65535
_LONGEST: Final = 6
"""Digits of a number that is looked at: one more than any port has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestEngine:
    """An engine as its container asks for it.

    words: its command line, as a shell would split it. asks: whether that has speculation. speculation: the object of
    --speculative-config; None if that cannot be read. method: empty if it is unknown. tokens: K.
    """

    container: str
    image: str
    words: tuple[str, ...]
    port: int
    asks: bool = False
    speculation: Json | None = None
    method: str = ""
    tokens: int | None = None

    @property
    def baseline(self) -> tuple[str, ...]:
        """The command line without speculation."""
        return without(self.words)

    @property
    def speculative(self) -> tuple[str, ...]:
        """The words that ask for speculation, each flag with its value."""
        return tuple(self.words[index] for index in sorted(_indexes(self.words)))


def engine_of(pod: Mapping[str, Any]) -> GuestEngine | None:
    """The engine of a pod's spec; None where it has no container."""
    container = engine_container(pod)
    if container is None:
        return None
    words = words_of(container)
    build = build_of("nvidia", None)  # which flags there are differs little, and nothing is refused here
    line = command_line.read(_without_program(words), build)
    settled = resolve(Case(build=build, speculation=line.speculation, args=line.args))
    readable = line.speculation is not None
    return GuestEngine(
        container=str(container.get("name", "")),
        image=str(container.get("image", "")),
        words=words,
        port=_port(line.args, container),
        asks=bool(_indexes(words)),
        speculation=line.speculation,
        method=(settled.method or "") if readable else "",
        tokens=settled.k if readable else None,
    )


def engine_container(pod: Mapping[str, Any]) -> Container | None:
    """The container that runs vLLM: KServe's, else one whose command line or image names vLLM, else the first."""
    containers = [each for each in pod.get("containers") or () if isinstance(each, Mapping)]
    signs = (_is_kserves, _speculates, _runs_vllm, _has_vllm)
    return next((each for sign in signs for each in containers if sign(each)), next(iter(containers), None))


def _is_kserves(container: Container) -> bool:
    return container.get("name") == ENGINE_CONTAINER


def _speculates(container: Container) -> bool:
    return bool(_indexes(words_of(container)))


def _runs_vllm(container: Container) -> bool:
    return any(word.rpartition("/")[2].partition(".")[0] == "vllm" for word in words_of(container))


def _has_vllm(container: Container) -> bool:
    return "vllm" in str(container.get("image", ""))


def words_of(container: Container) -> tuple[str, ...]:
    """Command and args, and the words of a script that a shell is given among them."""
    return tuple(word for text, script in parts(container) for word in (split(text) if script else (text,)))


def parts(container: Container) -> Iterator[tuple[str, bool]]:
    """Command and args one by one, and whether each is a script."""
    every = [str(each) for field in ("command", "args") for each in container.get(field) or ()]
    shell = next((index for index, each in enumerate(every) if _SHELL.fullmatch(each)), None)
    for index, each in enumerate(every):
        yield each, shell is not None and index > shell and _SCRIPT.fullmatch(every[index - 1]) is not None


def split(script: str) -> tuple[str, ...]:
    """The words of a script. One that no shell could read is one word."""
    try:
        return tuple(word for found in _WORD.findall(script) for word in _unquoted(found))
    except ValueError:
        return (script,)


def _unquoted(found: str) -> list[str]:
    """A word of a script as a program gets it; none for a line that only goes on."""
    return shlex.split(found.replace("\\\n", ""))


def without(words: Sequence[str]) -> tuple[str, ...]:
    """A command line without its flags of speculation."""
    gone = _indexes(words)
    return tuple(word for index, word in enumerate(words) if index not in gone)


def without_in_script(script: str) -> str:
    """A script without its flags of speculation; every other character stays as it is."""
    spans = [(each.span(), _unquoted(each[0])) for each in _WORD.finditer(script)]
    spans = [(span, words) for span, words in spans if words]
    gone = _indexes([words[0] for _, words in spans])
    for (start, end), _ in reversed([each for index, each in enumerate(spans) if index in gone]):
        script = script[:start].rstrip(" \t") + script[end:]
    return script


def _indexes(words: Sequence[str]) -> frozenset[int]:
    """Which words speak of speculation: flags, and the values behind them."""
    found = set()
    for index, word in enumerate(words):
        if match := _ABOUT.fullmatch(word):
            found |= {index} if match["value"] is not None else {index, index + 1}
    return frozenset(found & set(range(len(words))))


def _without_program(words: Sequence[str]) -> tuple[str, ...]:
    """The words behind `vllm serve MODEL` or `-m vllm.entrypoints...`: what stands before them is a shell's."""
    starts = [index for index, word in enumerate(words) if word == "serve" or word.startswith("vllm.entrypoints")]
    return tuple(words[starts[-1] + 1 :] if starts else words)


def _port(args: Json, container: Container) -> int:
    for flag in ("port", "http_port"):  # the second is of KServe's own server
        if (port := str(args.get(flag))).isdecimal() and 0 < int(port[:_LONGEST]) <= _LAST_PORT:
            return int(port)
    for each in container.get("ports") or ():
        if isinstance(port := each.get("containerPort"), int):
            return port
    return ENGINE_PORT if container.get("name") == ENGINE_CONTAINER else _VLLM_PORT
