"""The spec of a SpeculativeInferenceService, as users write it; and the service as the owner of what is rendered.

Defaults live here and so in the CRD.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from specdec_engine.methods import NPU_MOST_TOKENS
from specdec_operator import names
from specdec_operator.api.autoscaling import Autoscaling, rules_of_scaling
from specdec_operator.api.engine import Engine, Memory
from specdec_operator.api.guard import Guard
from specdec_operator.api.guest import GuestRefs, rules_of_guests
from specdec_operator.api.pod import Pod
from specdec_operator.api.rollout import Rollout
from specdec_operator.api.speculation import Speculation
from specdec_operator.api.staging import Staging
from specdec_operator.api.types import (
    LATER,
    Annotations,
    Folder,
    Free,
    Labels,
    Part,
    Uri,
    each_once,
    rule,
    rules,
)


class DeletionPolicy(StrEnum):
    """What becomes of the InferenceService and the PVC when the service is deleted."""

    DELETE = "Delete"
    ORPHAN = "Orphan"


_ServedName = Annotated[str, Field(min_length=1, max_length=256, pattern=r"^[A-Za-z0-9/][A-Za-z0-9._:@/+-]*$")]
"""No word that an engine could take for a flag."""


class Adapter(Part):
    """A LoRA adapter of the target."""

    model_config = rules(rule("has(self.uri) || has(self.path)", "set uri, or path inside the target's artifact"))

    name: _ServedName = Field(description="Model name that clients send to use the adapter.")
    uri: Uri | None = Field(
        None, description=("Location of the adapter, in the form of model.uri. Default: in the target's artifact.")
    )
    path: Folder | None = Field(None, description="Folder inside the artifact with adapter_config.json.")
    rank: Annotated[int, Field(ge=1, le=512)] | None = Field(
        None,
        description=(
            "Rank of the adapter (r in adapter_config.json). Required if it is above the engine's default of 16."
        ),
    )


class Model(Part):
    """The model that answers."""

    uri: Uri = Field(
        description="Location of the target model: pvc://PVC/FOLDER (a PVC of this namespace), "
        "hf://OWNER/MODEL:REVISION, s3:// or gs://BUCKET/FOLDER, https://HOST/PATH (an archive, git or an "
        "Azure blob folder), oci://IMAGE:TAG (a Modelcar) or oci+native://IMAGE:TAG (an image volume)."
    )
    path: Folder | None = Field(None, description="Folder inside the artifact with config.json.")
    name: Annotated[str, Field(max_length=256)] | None = Field(
        None, description="Model name that clients send. Default: the name of this object."
    )
    aliases: Annotated[list[_ServedName], Field(max_length=32)] | None = Field(
        None, description="Additional model names that clients may send. Answers and metrics have model.name."
    )
    adapters: Annotated[list[Adapter], Field(max_length=32, json_schema_extra=each_once("name"))] | None = Field(
        None, description="LoRA adapters, each served under its own name. The draft guesses for all of them."
    )


class InferenceServiceMeta(Part):
    """Labels and annotations of the InferenceService in addition to those of the operator. KServe copies them to the
    pods.
    """

    labels: Labels | None = Field(
        None, description="Labels of the InferenceService, such as networking.kserve.io/visibility."
    )
    annotations: Annotations | None = Field(
        None,
        description=(
            "Annotations of the InferenceService, such as those that a platform reads for its gateway or console."
        ),
    )


class Spec(GuestRefs):
    """The requested service."""

    model_config = rules(
        rule(
            "!has(self.speculation) || !has(self.speculation.tokens) || self.engine.accelerator != 'ascend' "
            f"|| self.speculation.tokens <= {NPU_MOST_TOKENS}",
            f"on Ascend NPUs 1 + tokens must be <= {NPU_MOST_TOKENS + 1}: the limit of their attention kernels",
            ".speculation.tokens",
        ),
        rule(
            "!has(self.speculation) || !has(self.speculation.ascend) || self.engine.accelerator == 'ascend'",
            "speculation.ascend needs engine.accelerator ascend: only vllm-ascend has this verification",
            ".speculation.ascend",
        ),
        rule("!has(self.suspend) || !self.suspend", LATER.format("suspend"), ".suspend"),
        *rules_of_guests(),
        *rules_of_scaling(),
    )

    model: Model | None = Field(
        None, description=("The target: the model that answers. Absent only with a reference to a guest.")
    )
    speculation: Speculation | None = Field(
        None, description=("Absent: the service runs without speculation, and the guard does nothing.")
    )
    engine: Engine = Field(default_factory=Engine, json_schema_extra={"default": {}})
    memory: Memory = Field(default_factory=Memory, json_schema_extra={"default": {}})
    staging: Staging | None = None
    resources: Free | None = Field(
        None,
        description="Container resources (requests, limits) of the engine. The operator adds the GPUs or NPUs that "
        "the engine needs, unless this field has a resource with a domain.",
    )
    replicas: Annotated[int, Field(ge=1, le=1000)] = Field(
        1, description="Number of pods; `kubectl scale` sets it too."
    )
    autoscaling: Autoscaling | None = Field(
        None, description=("An autoscaler sets the number of pods, instead of replicas.")
    )
    pod: Pod | None = None
    inference_service: InferenceServiceMeta | None = Field(
        None,
        description=(
            "Labels and annotations of the InferenceService, for platforms that read them. A change replaces the pods."
        ),
    )
    rollout: Rollout = Field(default_factory=Rollout, json_schema_extra={"default": {}})
    guard: Guard = Field(default_factory=Guard, json_schema_extra={"default": {}})
    deletion_policy: DeletionPolicy = Field(
        DeletionPolicy.DELETE,
        description="What happens to the InferenceService and the PVC NAME-models when this object is deleted. "
        "Delete: they are deleted with the pods. Orphan: they stay, and the pods keep serving without a "
        "guard; status.owned lists them. A change does not replace the pods.",
    )
    suspend: bool = Field(False, description="True: the operator changes nothing, and the guard judges nothing.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """The service that owns what is rendered."""

    name: str
    namespace: str
    uid: str


def owner_reference(owner: Owner) -> dict[str, Any]:
    """The entry of ownerReferences."""
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.KIND,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
