"""Reads one service as the API server has it. What cannot be followed is a value: the next steps go on with it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from specdec_operator.api.canonical import canonical, digest_of
from specdec_operator.api.spec import Owner, Spec
from specdec_operator.errors import Invalid
from specdec_operator.kube.client import version_of
from specdec_operator.names import (
    ADOPT_ANNOTATION,
    DIAL_ANNOTATION,
    HOLD_ANNOTATION,
    RETRY_ANNOTATION,
    ROLLBACK_ANNOTATION,
    SYNTHETIC_ANNOTATION,
)
from specdec_operator.observe.ownership import Claimant
from specdec_operator.report.status import SpecRefusal
from specdec_operator.scrape.source import refuse_source

MOST_SPEC_BYTES: Final = 64 * 1024
"""Of a spec as JSON: the samples have less than 2 KiB, and a hundred arguments and variables take some ten."""
TOO_LARGE: Final = "specBytes"
"""In place of a spec that is larger: its size in bytes. No object can have this field, for the schema has none."""
_OF_THE_SERVICE: Final = {"model", "engine", "resources", "pod"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sis:
    """A sis, parsed. version: of the object. written: its spec as it stands in the object.

    speculation: hash of its speculation part; service: of what else makes the engine what it is; memory: of how its
    memory is to be planned.
    retry, rollback, dial: values of these annotations. held: whether the guard is asked to leave everything as it is.
    synthetic: whether an annotation lets the engine pretend an acceptance.
    adopts: whether an annotation lets it take over what has its names.
    """

    owner: Owner
    generation: int
    version: int
    spec: Spec
    written: Mapping[str, Any]
    speculation: str
    service: str
    memory: str
    retry: str | None
    rollback: str | None
    dial: str | None
    held: bool
    synthetic: bool
    adopts: bool
    status: Mapping[str, Any]

    @property
    def claimant(self) -> Claimant:
        """The sis as the one that writes its objects."""
        return Claimant(uid=self.owner.uid, adopts=self.adopts)


def owner_of_body(body: Mapping[str, Any]) -> Owner:
    """Who owns what is rendered for this object."""
    meta = body["metadata"]
    return Owner(name=meta["name"], namespace=meta["namespace"], uid=meta["uid"])


def read_sis(body: Mapping[str, Any]) -> Sis:
    """The parsed sis. Raises Invalid when the spec is not one, which the CRD's schema should have prevented."""
    meta, written = body["metadata"], body.get("spec", {})
    try:
        spec = Spec.model_validate(dict(written))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(["spec", *map(str, first["loc"])])
        raise Invalid(field, first.get("input"), first["msg"]) from error
    annotations = meta.get("annotations", {})
    return Sis(
        owner=owner_of_body(body),
        generation=meta.get("generation", 0),
        version=version_of(body),
        spec=spec,
        written=written,
        speculation=speculation_hash(spec),
        service=service_hash(spec),
        memory=digest_of(canonical(spec).get("memory")),
        retry=annotations.get(RETRY_ANNOTATION),
        rollback=annotations.get(ROLLBACK_ANNOTATION),
        dial=annotations.get(DIAL_ANNOTATION),
        held=bool(annotations.get(HOLD_ANNOTATION)),
        synthetic=annotations.get(SYNTHETIC_ANNOTATION) == "true",
        adopts=annotations.get(ADOPT_ANNOTATION) == "true",
        status=dict(body.get("status", {})),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """What may be followed of an object: its newest spec, or why not that; and the last one that was followed."""

    newest: Sis | SpecRefusal
    older: Sis | None = None


def parse(body: Mapping[str, Any], last_valid: tuple[int, Mapping[str, Any]] | None, urls: tuple[str, ...]) -> Parsed:
    """What may be followed. last_valid: generation and spec of the last one that was; urls: see refuse_source."""
    generation = body["metadata"].get("generation", 0)
    older = None
    if last_valid is not None and last_valid[0] != generation:
        older = read_sis({**body, "metadata": {**body["metadata"], "generation": last_valid[0]}, "spec": last_valid[1]})
    try:
        _refuse_large(body)
        newest = read_sis(body)
        refuse_source(newest.spec.guard, urls)
    except Invalid as error:
        return Parsed(newest=SpecRefusal(error=error, generation=generation), older=older)
    return Parsed(newest=newest, older=older)


def _refuse_large(body: Mapping[str, Any]) -> None:
    """Raises Invalid for a service whose spec was too large to be kept."""
    if size := body.get(TOO_LARGE):
        where = "{namespace}/{name}".format_map(body["metadata"])
        way_out = "remove large values from pod, engine.env, engine.args and speculation.options"
        rule = f"the spec of {where} has this many bytes as JSON, and the operator reads at most {MOST_SPEC_BYTES}"
        raise Invalid("spec", size, f"{rule}: {way_out}", reason="SpecTooLarge")


def speculation_hash(spec: Spec) -> str:
    """Ten hex digits that change when the speculation part of the spec means something else, and with no release.

    The releases before and after this one find the decisions about it by the same digits.
    """
    return digest_of(canonical(spec.speculation) if spec.speculation else None)


def service_hash(spec: Spec) -> str:
    """Ten hex digits that change when another model, engine or pod is asked for: its speed was never measured."""
    return digest_of({word: part for word, part in canonical(spec).items() if word in _OF_THE_SERVICE})
