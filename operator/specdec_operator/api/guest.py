"""What a service guards and does not serve: an existing InferenceService or Deployment."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Final

from pydantic import Field, model_validator
from pydantic.config import JsonDict

from specdec_operator.api.engine import Engine
from specdec_operator.api.types import Part, rule
from specdec_operator.names import KSERVE_GROUP

ONE_OF: Final = ("model", "inferenceServiceRef", "deploymentRef")
"""What a service is about: exactly one of them."""
_IN_PYTHON: Final = ("inference_service_ref", "deployment_ref")
_WORDS: Final = f"set exactly one of {', '.join(ONE_OF)}"
_SERVED: Final = ("speculation", "staging", "resources", "pod", "inferenceService", "autoscaling")
"""Parts that define how something is served. The guarded object defines that itself."""


_NAME: Final = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"


class Ref(Part):
    """An object of this namespace, by its name."""

    name: Annotated[str, Field(min_length=1, max_length=253, pattern=_NAME)] = Field(description="Its name.")


class GuestKind(StrEnum):
    """What is guarded."""

    INFERENCE_SERVICE = "InferenceService"
    DEPLOYMENT = "Deployment"


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestRef:
    """What a service guards. field: the field of the spec that names it."""

    kind: GuestKind
    name: str
    field: str

    @property
    def resource(self) -> str:
        """As kubectl takes it."""
        kind = "deployments.apps" if self.kind is GuestKind.DEPLOYMENT else f"inferenceservices.{KSERVE_GROUP}"
        return f"{kind}/{self.name}"

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


def rules_of_guests() -> tuple[JsonDict, ...]:
    """What a spec may contain in addition to a reference."""
    first, second, third = ONE_OF
    pairs = ((first, second), (first, third), (second, third))
    both = " || ".join(f"(has(self.{one}) && has(self.{other}))" for one, other in pairs)
    optional = [f"engine.{field.alias}" for field in Engine.model_fields.values() if field.default is None]
    named = " || ".join(f"has(self.{each})" for each in (*_SERVED, *optional))
    serves = f"the guarded object defines how it is served: remove {', '.join(_SERVED)}, replicas and engine"
    return (
        rule(
            " || ".join(f"has(self.{each})" for each in ONE_OF),
            f"{_WORDS}: the model to serve, or the object to guard",
        ),
        rule(f"!({both})", _WORDS),
        rule(f"has(self.model) || !({named})", serves),
        rule("has(self.model) || self.replicas == 1", serves, ".replicas"),
        rule(
            "!has(self.deploymentRef) || !has(self.guard.mode) || self.guard.mode != 'Enforce'",
            "the operator does not change the flags of a Deployment: with deploymentRef set mode Observe or Off",
            ".guard.mode",
        ),
    )


def about_one(written: Any) -> Any:
    """A spec as it is written. Raises ValueError where it is not about one thing."""
    if isinstance(written, dict) and sum(written.get(each) is not None for each in (*ONE_OF, *_IN_PYTHON)) != 1:
        raise ValueError(_WORDS)
    return written


def with_mode(written: Any) -> Any:
    """A spec as it is written, with the mode that a guest has where none is named: Observe."""
    if not isinstance(written, dict) or not any(written.get(each) for each in ONE_OF[1:]):
        return written
    guard = written.get("guard") or {}
    if not isinstance(guard, dict) or guard.get("mode"):
        return written
    return {**written, "guard": {**guard, "mode": "Observe"}}


class GuestRefs(Part):
    """The part of a spec that names an existing object to guard."""

    inference_service_ref: Ref | None = Field(
        None,
        description="An existing InferenceService of this namespace whose pods run vLLM. The guard reads and judges "
        "it. The operator changes only its speculative flag and the dial of its pods, and only with guard.mode Enforce "
        "and its owner's annotation specdec.io/enforce=true.",
    )
    deployment_ref: Ref | None = Field(
        None,
        description=(
            "An existing Deployment of this namespace whose pods run vLLM. The guard reads and judges it, and the "
            "operator changes nothing."
        ),
    )

    _with_mode = model_validator(mode="before")(with_mode)
    _about_one = model_validator(mode="before")(about_one)

    @property
    def guest(self) -> GuestRef | None:
        """What is guarded and not served; None for a service of the operator's own."""
        if self.inference_service_ref is not None:
            kind, field = GuestKind.INFERENCE_SERVICE, "spec.inferenceServiceRef.name"
            return GuestRef(kind=kind, name=self.inference_service_ref.name, field=field)
        if self.deployment_ref is not None:
            return GuestRef(kind=GuestKind.DEPLOYMENT, name=self.deployment_ref.name, field="spec.deploymentRef.name")
        return None
