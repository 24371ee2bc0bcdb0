"""`docker run ... IMAGE ARGS`: the image, its arguments, and what the options set. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from specdec_operator.shell.word import Word

_SWITCHES: Final = frozenset(
    {
        *("-d", "--detach", "-i", "--interactive", "-t", "--tty", "--rm", "--init", "--privileged", "--read-only"),
        *("-P", "--publish-all", "--no-healthcheck", "--oom-kill-disable", "--sig-proxy", "--disable-content-trust"),
        *("-q", "--quiet", "--replace", "--tls-verify", "--rmi", "--http-proxy", "--systemd"),
    }
)
"""Options without a value; all others have one."""
_LETTERS: Final = frozenset("dit")
_SILENT: Final = frozenset(
    {"-d", "--detach", "-i", "--interactive", "-t", "--tty", "--rm", "-it", "-ti", "-dit", "-itd"}
)
"""Options about the terminal, which no pod has."""
_ENV: Final = ("-e", "--env")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One `docker run`. env: of -e NAME=VALUE. beside: its other options, as they are written."""

    image: Word
    words: tuple[Word, ...]
    entrypoint: tuple[Word, ...] = ()
    env: tuple[tuple[str, Word], ...] = ()
    beside: tuple[str, ...] = ()


def run_of(words: Sequence[Word]) -> Run | None:
    """What `docker run`, `docker container run` and the like name; None for other commands of docker."""
    rest = list(words[1:])
    if rest and rest[0].value == "container":
        rest.pop(0)
    if not rest or rest.pop(0).value not in ("run", "create"):
        return None
    env: list[tuple[str, Word]] = []
    beside: list[str] = []
    entrypoint: tuple[Word, ...] = ()
    while rest and (rest[0].value or rest[0].text).startswith("-"):
        name, value, written = _option(rest)
        if name in _ENV and value is not None and "=" in (value.value or value.text):
            env.append(_variable(value))
        elif name == "--entrypoint" and value is not None:
            entrypoint = (value,)
        elif name not in _SILENT:
            beside.append(written)
    if not rest:
        return None
    return Run(image=rest[0], words=tuple(rest[1:]), entrypoint=entrypoint, env=tuple(env), beside=tuple(beside))


def _option(rest: list[Word]) -> tuple[str, Word | None, str]:
    """The name of the option at the begin, its value, and both as they are written. They are taken out of `rest`."""
    word = rest.pop(0)
    text = word.value if word.value is not None else word.text
    name, equals, tail = text.partition("=")
    if equals:
        return name, Word(text=tail, value=None if word.value is None else tail, why=word.why), word.text
    letters = not text.startswith("--") and len(text) > 2 and set(text[1:]) <= _LETTERS
    if text in _SWITCHES or letters or not rest:
        return ("-it" if letters else text), None, word.text
    if not text.startswith("--") and len(text) > 2:  # -eNAME=VALUE, -p8000:8000
        return text[:2], Word(text=text[2:], value=text[2:]), word.text
    value = rest.pop(0)
    return name, value, f"{word.text} {value.text}"


def _variable(word: Word) -> tuple[str, Word]:
    name, _, value = (word.text.strip("\"'") if word.value is None else word.value).partition("=")
    return name, Word(text=value, value=None if word.value is None else value, why=word.why, hint=word.hint)
