"""What every part of the status is built from."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
"""A moment, as Kubernetes writes it."""


class Part(BaseModel):
    """Base of every object in the status."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True, extra="ignore")
