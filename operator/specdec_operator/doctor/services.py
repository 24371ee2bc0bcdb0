"""The services of a picture, parsed: what each asks its namespace and its nodes for."""

from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from specdec_operator.api.spec import Spec
from specdec_operator.api.staging import StagingMode
from specdec_operator.cli.found import Found
from specdec_operator.doctor.picture import Picture
from specdec_operator.serving.devices import resources
from specdec_operator.staging.artifacts import claim_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One sis. spec: None where this command cannot read it."""

    namespace: str
    name: str
    spec: Spec | None
    found: Found

    @property
    def about(self) -> str:
        """As findings name it."""
        return f"{self.namespace}/{self.name}"

    @property
    def runtime(self) -> str:
        """The runtime that it names, or that it is given."""
        if self.spec is None:
            return ""
        return self.spec.engine.runtime or f"specdec-{self.spec.engine.accelerator.value}"

    @property
    def asks(self) -> dict[str, Any]:
        """Requests and limits of one pod, devices with them."""
        return (resources(self.spec) if self.spec else None) or {}

    @property
    def downloads(self) -> bool:
        """Whether the operator brings its models into a claim."""
        staging = self.spec.staging if self.spec else None
        return staging is not None and staging.mode is StagingMode.PERSISTENT_VOLUME_CLAIM

    @property
    def claims(self) -> tuple[str, ...]:
        """Claims that its pods mount; the operator's own claim is made by it."""
        if self.spec is None:
            return ()
        draft = self.spec.speculation.draft if self.spec.speculation else None
        uris = (self.spec.model.uri, *([draft.uri] if draft and draft.uri else []))
        named = (each.removeprefix("pvc://").partition("/")[0] for each in uris if each.startswith("pvc://"))
        return tuple(dict.fromkeys(named))

    @property
    def own_claim(self) -> str:
        """The claim that the operator makes for it; empty where it makes none."""
        return claim_name(self.name) if self.downloads else ""


def services(picture: Picture) -> tuple[Service, ...]:
    """All services that are asked about."""
    every = (_service(each) for each in picture.services.items)
    return tuple(each for each in every if picture.service in (None, each.name))


def _service(found: Found) -> Service:
    meta, spec = found.of("metadata"), found.of("spec").value
    try:
        read = Spec.model_validate(spec)
    except ValidationError:
        read = None
    return Service(namespace=meta.of("namespace").text, name=meta.of("name").text, spec=read, found=found)
