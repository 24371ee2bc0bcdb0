"""Reads one sis as the API server has it. Fallible here, so that nothing after it is."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from specdec_operator.api.spec import Spec
from specdec_operator.errors import Invalid
from specdec_operator.names import RETRY_ANNOTATION, SYNTHETIC_ANNOTATION
from specdec_operator.serving.owner import Owner


@dataclass(frozen=True, slots=True, kw_only=True)
class Sis:
    """A sis, parsed. speculation: hash of its speculation part; retry: value of the retry annotation.

    synthetic: whether an annotation lets the engine pretend an acceptance.
    """

    owner: Owner
    generation: int
    spec: Spec
    speculation: str
    retry: str | None
    synthetic: bool
    status: Mapping[str, Any]


def owner_of_body(body: Mapping[str, Any]) -> Owner:
    """Who owns what is rendered for this object."""
    meta = body["metadata"]
    return Owner(name=meta["name"], namespace=meta["namespace"], uid=meta["uid"])


def read_sis(body: Mapping[str, Any]) -> Sis:
    """The parsed sis. Raises Invalid when the spec is not one, which the CRD's schema should have prevented."""
    meta = body["metadata"]
    try:
        spec = Spec.model_validate(dict(body.get("spec", {})))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(["spec", *map(str, first["loc"])])
        raise Invalid(field, first.get("input"), first["msg"]) from error
    annotations = meta.get("annotations", {})
    return Sis(
        owner=owner_of_body(body),
        generation=meta.get("generation", 0),
        spec=spec,
        speculation=speculation_hash(spec),
        retry=annotations.get(RETRY_ANNOTATION),
        synthetic=annotations.get(SYNTHETIC_ANNOTATION) == "true",
        status=dict(body.get("status", {})),
    )


def speculation_hash(spec: Spec) -> str:
    """Ten hex digits that change when the speculation part of the spec means something else."""
    meant = spec.speculation.model_dump(mode="json", by_alias=True, exclude_none=True) if spec.speculation else None
    return hashlib.sha256(json.dumps(meant, sort_keys=True).encode()).hexdigest()[:10]
