"""Types of the API that are more than their JSON: a duration text that is seconds inside the operator."""

from typing import Annotated

from pydantic import BeforeValidator, WithJsonSchema

from specdec_operator.api.durations import DURATION_PATTERN, parse_duration

Duration = Annotated[
    float,
    BeforeValidator(parse_duration),
    WithJsonSchema({"type": "string", "format": "duration", "pattern": DURATION_PATTERN}),
]
"""Seconds inside the operator, a duration text in the API."""
