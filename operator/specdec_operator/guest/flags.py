"""The command line of an engine that another owner wrote: in command and args, or in a script for a shell."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from specdec_engine import command_line
from specdec_engine.case import Case, Json
from specdec_engine.resolve import resolve
from specdec_operator.engine.build import build_of
from specdec_operator.engine.legacy_flags import todays
from specdec_operator.guest.liveness import notices_hangs
from specdec_operator.guest.speculation_flags import asks, groups_of, may_hold, mentions
from specdec_operator.observe.pods import ENGINE_CONTAINER, ENGINE_PORT
from specdec_operator.shell.reading import Reading, read_container
from specdec_operator.shell.word import Word

Container: TypeAlias = Mapping[str, Any]
_VLLM_PORT: Final = 8000
"""Where vLLM listens by itself."""
_LAST_PORT: Final = 65535
_LONGEST: Final = 6
"""Digits of a number that is looked at: one more than any port has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestEngine:
    """An engine as its container asks for it.

    words: its command line, as a shell would split it. baseline: without speculation. speculative: the words that ask
    for it, each flag with its value. asks: whether there are any. speculation: the object of --speculative-config; None
    if that cannot be read. method: empty if it is unknown. tokens: K. doubt: why it is not certain what it runs.
    notices_hangs: whether its liveness probe may notice that it hangs.
    """

    container: str
    image: str
    words: tuple[str, ...]
    baseline: tuple[str, ...]
    port: int
    speculative: tuple[str, ...] = ()
    asks: bool = False
    speculation: Json | None = None
    method: str = ""
    tokens: int | None = None
    doubt: str = ""
    notices_hangs: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a command line asks for. groups: the words of each flag of speculation. hidden: the first word that may hold
    one where it cannot be read; None: no word does.
    """

    words: tuple[Word, ...]
    groups: tuple[tuple[Word, ...], ...]
    asks: bool
    hidden: Word | None = None


def engine_of(pod: Mapping[str, Any]) -> GuestEngine | None:
    """The engine of a pod's spec; None where it has no container."""
    found = _chosen(pod)
    if found is None:
        return None
    container, reading = found
    asked = asked_of(reading)
    build = build_of("nvidia", None)  # which flags there are differs little, and nothing is refused here
    line = command_line.read([_shown(each) for each in asked.words], build)
    args = dict(line.args)
    speculation = todays(line.speculation, args) if asked.asks else None
    settled = resolve(Case(build=build, speculation=speculation, args=args))
    gone = {word.span for group in asked.groups for word in group if word.span}
    return GuestEngine(
        container=str(container.get("name", "")),
        image=str(container.get("image", "")),
        words=tuple(each.text for each in reading.parts),
        baseline=tuple(each.text for each in reading.parts if each.span is None or each.span not in gone),
        port=_port(args, container),
        speculative=tuple(_shown(word) for group in asked.groups for word in group),
        asks=asked.asks,
        speculation=speculation,
        method=(settled.method or "") if speculation is not None else "",
        tokens=settled.k if speculation is not None else None,
        doubt=reading.doubt or _hidden(asked),
        notices_hangs=notices_hangs(container),
    )


def asked_of(reading: Reading) -> Asked:
    """The flags of speculation of what was read. If the engine is not certain, any mention of one counts."""
    words = reading.words or _agreed(reading)
    groups = groups_of(words)
    there = {at for group in groups for at in group}
    rest = (each for at, each in enumerate(words) if at not in there)
    hidden = next((each for each in rest if may_hold(each)), None)
    unsure = reading.engine is None and any(mentions(each.text) for each in reading.parts)
    return Asked(
        words=words,
        groups=tuple(tuple(words[at] for at in group) for group in groups),
        asks=asks(words, groups) or hidden is not None or unsure,
        hidden=hidden,
    )


def _hidden(asked: Asked) -> str:
    return f"{asked.hidden.text} may hold a flag of speculation" if asked.hidden else ""


def _agreed(reading: Reading) -> tuple[Word, ...]:
    """The words that all engines of several have; none if these differ."""
    every = {tuple(_shown(word) for word in each.start.words) for each in reading.starts}
    return reading.starts[0].start.words if len(every) == 1 else ()


def _shown(word: Word) -> str:
    return word.text if word.value is None else word.value


def engine_container(pod: Mapping[str, Any]) -> Container | None:
    """The container that runs vLLM: KServe's, else one whose command line or image names vLLM, else the first."""
    found = _chosen(pod)
    return found[0] if found else None


def _chosen(pod: Mapping[str, Any]) -> tuple[Container, Reading] | None:
    containers = [each for each in pod.get("containers") or () if isinstance(each, Mapping)]
    kserves = next((each for each in containers if each.get("name") == ENGINE_CONTAINER), None)
    if kserves is not None:
        return kserves, read_container(kserves)
    read = [(each, read_container(each)) for each in containers]
    signs = (_speculates, _runs_vllm, _has_vllm)
    return next((each for sign in signs for each in read if sign(*each)), next(iter(read), None))


def _speculates(_: Container, reading: Reading) -> bool:
    return asked_of(reading).asks


def _runs_vllm(_: Container, reading: Reading) -> bool:
    return any(each.text.rpartition("/")[2].partition(".")[0] == "vllm" for each in reading.parts)


def _has_vllm(container: Container, _: Reading) -> bool:
    return "vllm" in str(container.get("image", ""))


def _port(args: Json, container: Container) -> int:
    for flag in ("port", "http_port"):  # the second is of KServe's own server
        if (port := str(args.get(flag))).isdecimal() and 0 < int(port[:_LONGEST]) <= _LAST_PORT:
            return int(port)
    for each in container.get("ports") or ():
        if isinstance(port := each.get("containerPort"), int):
            return port
    return ENGINE_PORT if container.get("name") == ENGINE_CONTAINER else _VLLM_PORT
