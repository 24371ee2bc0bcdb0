"""How values of the operator are stored in the status: named, described, read from it and written to it.

A dataclass whose fields have metadata from `means` generates its CRD schema. Only what is read from a status is
checked; within the operator a new value costs no more than any dataclass.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, ConfigDict, GetCoreSchemaHandler, PlainSerializer, ValidationInfo
from pydantic.alias_generators import to_camel
from pydantic.config import JsonDict
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from specdec_operator.api.times import from_time, is_past, to_time
from specdec_operator.api.types import Stamp

KEPT: Final = ConfigDict(alias_generator=to_camel)
"""`__pydantic_config__` of a dataclass that is read or written by itself; its parts follow it."""
NOW: Final = "now"
"""Of the context of a reading: epoch seconds that no moment is later than."""


def means(description: str, *, name: str | None = None, empty: bool = True, kept: bool = True) -> Mapping[str, Any]:
    """Metadata of a dataclass's field: what it means, as the CRD describes it.

    name: in the status, if that is not its own in camelCase. empty: whether it is written if it is 0 or empty; None is
    never written. kept: whether it is written at all.
    """
    return {
        "description": description,
        "alias": name,
        "exclude": None if kept else True,
        **({} if empty else {"exclude_if": _is_empty, "json_schema_extra": _or_absent}),
    }


def _is_empty(value: Any) -> bool:
    return not value


def _or_absent(schema: JsonDict) -> None:
    """As of a field that may be None."""
    value = {key: schema.pop(key) for key in [*schema] if key not in ("description", "title", "default")}
    schema["anyOf"] = [value, {"type": "null"}]


@dataclass(frozen=True, slots=True)
class Form:
    """In Annotated: a value that the status has in another shape. read: makes it of that; write: that of it."""

    read: Callable[[Any], Any]
    write: Callable[[Any], Any]
    shape: Any

    def __get_pydantic_core_schema__(self, _: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """The shape's own schema, with both functions about it."""
        shape = handler.generate_schema(self.shape)
        written = core_schema.plain_serializer_function_ser_schema(self.write, return_schema=shape)
        return core_schema.no_info_after_validator_function(self.read, shape, serialization=written)


def rounded(digits: int) -> PlainSerializer:
    """In Annotated: a number of which the status has so many digits after the point."""
    return PlainSerializer(lambda value: round(value, digits), return_type=float)


NOT_A_TIME: Final = "not_a_time"
"""Type of the error about a time that cannot be that of an observation."""


def _moment(text: Any, info: ValidationInfo) -> float:
    now: float = (info.context or {}).get(NOW, math.inf)
    if not is_past(text, now):
        raise PydanticCustomError(NOT_A_TIME, "not a time between 1970 and tomorrow")
    return min(from_time(text), now)


Time = Annotated[float, BeforeValidator(_moment), PlainSerializer(to_time, return_type=Stamp)]
"""A moment: epoch seconds inside the operator, RFC 3339 text of whole seconds in the status."""
Milliseconds = Annotated[
    float, Form(lambda written: round(written / 1000, 6), lambda seconds: round(1000 * seconds, 3), float)
]
"""Seconds inside the operator, milliseconds in the status."""
