"""Which words of a command line ask for speculation, those of engines before 0.11 among them. Pure."""

import re
from collections.abc import Sequence
from typing import Final

from specdec_operator.engine.legacy_flags import ENDED, KEYS
from specdec_operator.shell.word import Word

_CONFIG: Final = "speculative-config"
_LEAST: Final = {_CONFIG: "specu", "spec-method": "spec-me", "spec-model": "spec-mo", "spec-tokens": "spec-t"}
"""Each flag of today, and the shortest text that the engine's parser takes for it: no other flag begins so."""
_TODAYS: Final = frozenset(name[:end] for name, least in _LEAST.items() for end in range(len(least), len(name) + 1))
_OLD: Final = frozenset(name.replace("_", "-") for name in KEYS)
_BESIDE: Final = frozenset(name.replace("_", "-") for name in ENDED)
_SWITCHES: Final = frozenset({"speculative-disable-mqa-scorer"})
_SHORT: Final = "-sc"
_FLAG: Final = re.compile(r"(?P<flag>-sc|--[A-Za-z0-9_-]+)(?P<key>[.][^=\s]*)?(?P<value>=.*)?", re.DOTALL)
_MENTIONS: Final = re.compile(
    r"(?<![\w-])(?:--(?:specu|spec[-_](?:me|mo|t)|num[-_]speculative|ngram[-_]prompt)|-sc(?![\w-]))"
)
_MAY_MENTION: Final = re.compile(r"-sc(?![\w-])|--?spec|spec[-_]|num[-_]spec|ngram[-_]prompt")
_NUMBER: Final = re.compile(r"-[0-9.]+")


def mentions(text: str) -> bool:
    """Whether a text has a flag of speculation anywhere."""
    return _MENTIONS.search(text) is not None


def may_hold(word: Word) -> bool:
    """Whether a word may bring a flag although it is not one: its value has a flag inside, or is not known."""
    if word.value is None:
        return _MAY_MENTION.search(f"{word.text}\n{word.hint}") is not None
    return mentions(word.value)


def groups_of(words: Sequence[Word]) -> tuple[tuple[int, ...], ...]:
    """The indexes of each flag about speculation, with its value."""
    found = []
    at = 0
    while at < len(words):
        flag = _flag(words[at])
        if flag is None or not _is_about(flag["flag"]):
            at += 1
            continue
        name = _name(flag["flag"])
        valued = flag["value"] is None and name not in _SWITCHES and at + 1 < len(words)
        several = (at, at + 1) if valued and not _is_flag(words[at + 1]) else (at,)
        found.append(several)
        at += len(several)
    return tuple(found)


def asks(words: Sequence[Word], groups: Sequence[Sequence[int]]) -> bool:
    """Whether one of the flags asks for speculation by itself: some only change how it works."""
    flags = (_flag(words[each[0]]) for each in groups)
    return any(flag is not None and _name(flag["flag"]) not in _BESIDE for flag in flags)


def _flag(word: Word) -> re.Match[str] | None:
    if word.value is not None:
        return _FLAG.fullmatch(word.value)
    return _FLAG.fullmatch(word.text.lstrip("\"'"))


def _is_about(flag: str) -> bool:
    return flag == _SHORT or (flag.startswith("--") and _name(flag) in _TODAYS | _OLD | _BESIDE)


def _name(flag: str) -> str:
    return _CONFIG if flag == _SHORT else flag.removeprefix("--").replace("_", "-")


def _is_flag(word: Word) -> bool:
    text = word.text if word.value is None else word.value
    return text.startswith("-") and not _NUMBER.fullmatch(text) and " " not in text
