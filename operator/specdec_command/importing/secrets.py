"""Secrets in what is imported: they are found by name and by shape, and are never copied or printed."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

HIDDEN: Final = "REDACTED"
"""What stands in the place of a secret."""
_OF_KEYS: Final = (
    "api|access|private|secret|encryption|signing|license|auth|account|shared[_.-]?access|client|master|storage|"
    "subscription|webhook|integration|app|application|admin"
)
_NAMED: Final = (
    r"(?:[A-Za-z0-9_.-]*[_.-])?"
    rf"(?:(?:{_OF_KEYS})?[_.-]?key|token|(?:client|app|webhook)?[_.-]?secret|pass(?:word|wd|phrase)?|"
    r"pwd|pat|credentials?|auth|access[_-]key[_-]id|(?:shared[_.-]?access[_.-]?)?signature|sig|dsn|"
    r"conn(?:ection)?[_.-]?str(?:ing)?|(?:otlp|extra|http|default|auth)(?:[_.-](?:traces|metrics|logs))?[_.-]headers)"
)
_NAME: Final = re.compile(_NAMED + r"|\w*(?:PASSWORD|APIKEY|TOKEN)", re.IGNORECASE)
_NO_NAME: Final = re.compile(
    r".*(?:pad|eos|bos|unk|mask|image|audio|video)_?token|(?:sort|route|cache|group|node)?_?key", re.IGNORECASE
)
"""Names that end like those of secrets and name tokens of text, or keys of maps."""
_SHAPES: Final = (
    r"hf_[A-Za-z0-9]{12,}",
    r"api_org_[A-Za-z0-9]{12,}",
    r"(?:sk|pk|rk)[_-][A-Za-z0-9_-]{8,}",
    r"(?:gsk|npm|dckr_pat)_[A-Za-z0-9_-]{16,}",
    r"pypi-[A-Za-z0-9_-]{16,}",
    r"nvapi-[A-Za-z0-9_-]{8,}",
    r"(?:AKIA|ASIA|AROA)[A-Z0-9]{12,}",
    r"AIza[A-Za-z0-9_-]{20,}",
    r"gh[opsur]_[A-Za-z0-9]{16,}",
    r"github_pat_[A-Za-z0-9_]{16,}",
    r"glpat-[A-Za-z0-9_-]{12,}",
    r"xox[abprs]-[A-Za-z0-9-]{10,}",
    r"hooks\.slack\.com/[a-z]+/[A-Za-z0-9/_-]{20,}",
    r"discord(?:app)?\.com/api/webhooks/[A-Za-z0-9/_-]{20,}",
    r"(?<![_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?",
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
)
_SHAPE: Final = re.compile("(?<![A-Za-z0-9])(?:" + "|".join(_SHAPES) + ")", re.DOTALL)
_VALUE: Final = r"""["']?(?P<secret>[^\s"',;{}$]+)"""
_URL: Final = re.compile(r"""(?<=://)[^/\s:@]*:(?P<secret>[^/\s"']+)(?=@)""")
_URL_TOKEN: Final = re.compile(r"(?<=://)(?P<secret>(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{20,})(?=@)")
_PLACES: Final = (
    re.compile(rf"""(?<![\w$.-])(?P<name>{_NAMED})["']?(?:=|:\s*){_VALUE}""", re.IGNORECASE),
    re.compile(rf"(?<![\w$-])--(?P<name>{_NAMED})(?:=|\s+){_VALUE}", re.IGNORECASE),
    _URL,
    _URL_TOKEN,
    re.compile(rf"""\bauthorization["']?\s*[:=]\s*(?!["']?(?:bearer|basic|token)\b){_VALUE}""", re.IGNORECASE),
    re.compile(r"\b(?:bearer|basic)\s+(?P<secret>[\w.+/=-]{8,})", re.IGNORECASE),
)
"""Places of a secret: behind its name in an assignment, JSON or a flag; the user or password of a URL; in a header."""
_LONG: Final = re.compile(r"(?<![A-Za-z0-9+/=_.-])[A-Za-z0-9+/_-]{40,}={0,2}(?![A-Za-z0-9+/=_.-])")
_PUBLIC: Final = re.compile(
    r"|true|false|yes|no|on|off|none|\d{1,5}|\$.*|/(?:[\w.-]+/)+[\w.-]+", re.IGNORECASE | re.DOTALL
)
"""Values that never are secrets, whatever their names: switches, numbers, variables and files."""
_PIECE: Final = re.compile(r"[/_-]")
_WORD: Final = re.compile(r"[a-z]{8,}")
_LEAST_PIECE: Final = 20
_SHORTEST: Final = 4
"""Characters of a value that comments hide wherever it stands."""


def is_secret_name(name: str) -> bool:
    """Whether a flag, a variable or a key names a secret."""
    bare = name.lstrip("-")
    return _NAME.fullmatch(bare) is not None and _NO_NAME.fullmatch(bare) is None


def _random(text: str) -> bool:
    """Whether it is long base64 and not a path or a name: one piece without separators has letters and digits mixed."""
    piece = max(_PIECE.split(text.rstrip("=")), key=len)
    kinds = (any(map(str.islower, piece)), any(map(str.isupper, piece)), sum(map(str.isdigit, piece)) > 1)
    return len(piece) >= _LEAST_PIECE and all(kinds) and _WORD.search(piece) is None


def secrets_in(value: Any, name: str = "") -> Iterator[str]:
    """The secrets in a manifest, by the names of their fields, variables and flags, and by shape."""
    if isinstance(value, Mapping):
        called, text = value.get("name"), value.get("value")
        if isinstance(called, str) and isinstance(text, str) and names_secret(called, text):
            yield text
        for key, inner in value.items():
            yield from secrets_in(inner, str(key))
    elif isinstance(value, list | tuple):
        yield from _in_words(value)
    elif isinstance(value, str):
        if names_secret(name, value):
            yield value
        yield from _in_text(value)


def _in_words(words: list[Any] | tuple[Any, ...]) -> Iterator[str]:
    """A flag of a secret, and its value in the next word."""
    for at, word in enumerate(words):
        yield from secrets_in(word)
        after = words[at + 1] if at + 1 < len(words) else ""
        flag = isinstance(word, str) and word.startswith("-") and isinstance(after, str) and not after.startswith("-")
        if flag and names_secret(word, after):
            yield after


def _in_text(text: str) -> Iterator[str]:
    return (text[start:end] for start, end in _spans(text))


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Where the secrets of a text stand. They may overlap."""
    yield from (found.span() for found in _SHAPE.finditer(text))
    yield from (found.span() for found in _LONG.finditer(text) if _random(found[0]))
    for pattern in _PLACES:
        for found in pattern.finditer(text):
            if names_secret(found.groupdict().get("name", "token"), found["secret"]):
                yield found.span("secret")


def masked(text: str) -> str:
    """The text without the secrets that it shows by their places and shapes, however short they are."""
    left, end = [], 0
    for start, stop in sorted(_spans(text)):
        if stop > end:
            left += [text[end:start], HIDDEN] if start >= end else []
            end = stop
    return "".join([*left, text[end:]])


def names_secret(name: str, value: str) -> bool:
    """Whether a flag or a variable has a secret as its value, and not a switch, a number, a file or a variable."""
    return is_secret_name(name) and _PUBLIC.fullmatch(value) is None


def hidden(text: str, secrets: frozenset[str]) -> str:
    """The text without these secrets, and without what has the shape of one."""
    for each in sorted(secrets, key=len, reverse=True):
        if len(each) >= _SHORTEST:
            text = text.replace(each, HIDDEN)
    return _LONG.sub(lambda found: HIDDEN if _random(found[0]) else found[0], _SHAPE.sub(HIDDEN, text))
