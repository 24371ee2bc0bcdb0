"""A part of the spec in the form in which it is hashed and remembered: the same in every release that knows it.

Decisions are about a speculation and are found again by its hash. If a hash changes although the user changed nothing,
they are forgotten (docs/decisions/0018-hashes-that-last.md).
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from pydantic.fields import FieldInfo

from specdec_operator.api.types import Part


@dataclass(frozen=True, slots=True)
class CameWith:
    """Marks a field that is newer than the first release: the default, as JSON, that it had when it came.

    With this value it is as if it were absent, as it was before. It stays so when the default changes later: the API
    server has written the old one into the services that were stored before.
    """

    default: Any


_DIGITS: Final = 10


def digest_of(meant: Any) -> str:
    """Ten hex digits that identify a JSON value. The order of keys does not matter."""
    return hashlib.sha256(json.dumps(meant, sort_keys=True).encode()).hexdigest()[:_DIGITS]


def canonical(part: Part) -> dict[str, Any]:
    """A part as JSON with the API's field names, with the defaults of the first release and without those that came
    later.
    """
    return _without_later_defaults(part, part.model_dump(mode="json", by_alias=True, exclude_none=True))


def _without_later_defaults(part: Part, dumped: dict[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, word, field in _fields(part):
        if word not in dumped:
            continue
        value = _inner(getattr(part, name), dumped[word])
        if not any(isinstance(each, CameWith) and each.default == value for each in field.metadata):
            out[word] = value
    return out


def _fields(part: Part) -> Iterator[tuple[str, str, FieldInfo]]:
    """Name in Python, word in the API, and declaration of each field."""
    return ((name, field.alias or name, field) for name, field in type(part).model_fields.items())


def _inner(value: Any, dumped: Any) -> Any:
    """The parts inside a value."""
    if isinstance(value, Part):
        return _without_later_defaults(value, dumped)
    if isinstance(value, list):
        return [_inner(*pair) for pair in zip(value, dumped, strict=True)]
    return dumped
