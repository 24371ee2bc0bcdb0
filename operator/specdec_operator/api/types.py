"""What every part of the spec and of the status is built from.

Reading tolerates unknown fields, so that an older operator survives a newer CRD; the API server refuses them on write.
"""

from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel
from pydantic.config import JsonDict

from specdec_engine.quantity import DURATION_PATTERN, MEMORY, parse_duration
from specdec_operator.staging import schemes


def rule(expression: str, message: str, path: str | None = None) -> JsonDict:
    """One CEL rule of the CRD; `path` is the field that the API server names."""
    named: JsonDict = {"fieldPath": path} if path else {}
    return {"rule": expression, "message": message, **named}


def rules(*given: JsonDict) -> ConfigDict:
    """The CEL rules of one part."""
    return ConfigDict(json_schema_extra={"x-kubernetes-validations": list(given)})


def each_once(field: str) -> JsonDict:
    """The rule of a list in which no two have the same."""
    unique = f"self.all(a, self.exists_one(b, b.{field} == a.{field}))"
    return {"x-kubernetes-validations": [rule(unique, f"two entries have the same {field}")]}


class Part(BaseModel):
    """Base of every object in the spec."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True, extra="ignore")


MOST_PARTS: Final = 64
"""Entries of an object or a list that is passed on as it is."""
Free = Annotated[
    dict[str, Any], Field(max_length=MOST_PARTS, json_schema_extra={"x-kubernetes-preserve-unknown-fields": True})
]
"""An object of Kubernetes' own, or of the engine's, that is passed on as it is. No schema bounds what is inside."""
FreeList = Annotated[list[Free], Field(max_length=MOST_PARTS)]

_DOWN_ONLY = "'.' and '..' are not allowed in a folder of an artifact"

Folder = Annotated[
    str,
    Field(
        max_length=512,
        pattern=r"^[A-Za-z0-9_.-]{1,255}(/[A-Za-z0-9_.-]{1,255})*$",
        json_schema_extra={"x-kubernetes-validations": [rule("!self.matches('(^|/)[.][.]?(/|$)')", _DOWN_ONLY)]},
    ),
]
Text = Annotated[str, Field(max_length=4096)]
Name = Annotated[str, Field(max_length=253)]
Labels = Annotated[dict[str, Annotated[str, Field(max_length=63)]], Field(max_length=MOST_PARTS)]
Annotations = Annotated[dict[str, Text], Field(max_length=MOST_PARTS)]

Uri = Annotated[
    str,
    Field(
        max_length=1024,
        json_schema_extra={
            "x-kubernetes-validations": [
                rule(f"self.matches('{schemes.pattern()}')", f"must be {schemes.shapes()}"),
                rule(
                    "!self.startsWith('oci') || self.matches(':[^/:]+$')",
                    "an image needs a tag or a digest: without one the pods of a service may get different models",
                ),
                rule("!self.matches('/[.][.]?(/|$)')", f"{_DOWN_ONLY}: write the URI without them"),
                rule(
                    f"!self.matches('^({'|'.join(schemes.REMOTE)})://([^/]*@|[^?#]*[?#])')",
                    "every user who can read this object would see the key; use a Secret instead",
                ),
            ]
        },
    ),
]
"""Where an artifact lies. What these rules leave open is refused when the operator, or `specdec validate`, reads it."""

Quantity = Annotated[str, Field(max_length=32, pattern=f"^{MEMORY}$")]
"""Bytes as Kubernetes writes them: 80Gi."""

LATER = "this release does not support {} yet; remove it"
"""Why a field is refused whose behaviour is still to come."""

Duration = Annotated[
    float,
    BeforeValidator(parse_duration),
    WithJsonSchema({"type": "string", "format": "duration", "pattern": DURATION_PATTERN}),
]
"""Seconds inside the operator, a duration text in the API."""

Stamp = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
"""A moment, as Kubernetes writes it. Nothing is computed with it: else see kept.Time."""


class StatusPart(Part):
    """Base of the objects that are declared for the status alone."""
