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
from specdec_operator.api.types import (
    LATER,
    Annotations,
    Folder,
    Free,
    Labels,
    Name,
    Part,
    Quantity,
    Uri,
    each_once,
    rule,
    rules,
)

_PATTERNS = (
    "patterns are for mode PersistentVolumeClaim: in every other mode KServe downloads, "
    "and takes patterns only from the environment of a ClusterStorageContainer"
)
_FOR_CLAIMS = {
    "claim": "claim is for mode PersistentVolumeClaim",
    "env": "env is for the download of mode PersistentVolumeClaim; KServe's own download takes its credentials from "
    "the secrets of pod.serviceAccountName",
    "resources": "resources are for the download of mode PersistentVolumeClaim; those of KServe's own download are in "
    "its ClusterStorageContainer",
    **dict.fromkeys(("include", "exclude"), _PATTERNS),
}
"""Fields of staging for one mode only, and what to say in the others."""
_Pattern = Annotated[str, Field(min_length=1, max_length=256)]


class StagingMode(StrEnum):
    """How artifacts reach the pods."""

    AUTO = "Auto"
    STORAGE_URIS = "StorageUris"
    MODELCAR = "Modelcar"
    PERSISTENT_VOLUME_CLAIM = "PersistentVolumeClaim"


class AccessMode(StrEnum):
    """How many nodes mount a claim at once. Pods only read, but a download writes."""

    READ_WRITE_ONCE = "ReadWriteOnce"
    READ_WRITE_MANY = "ReadWriteMany"


class StagingClaim(Part):
    """The claim NAME-models that the operator makes for downloads."""

    storage: Quantity = Field(
        description="Bytes of the claim, such as 200Gi: both models, and during a change of revision the old one too."
    )
    storage_class_name: Name | None = Field(None, description="Storage class. Default: the cluster's default class.")
    access_modes: Annotated[list[AccessMode], Field(min_length=1, max_length=2)] = Field(
        [AccessMode.READ_WRITE_ONCE],
        description="ReadWriteOnce: all pods on one node, which any storage class can. Pods on several nodes need "
        "ReadWriteMany.",
        json_schema_extra={"default": [AccessMode.READ_WRITE_ONCE.value]},
    )


class Staging(Part):
    """How artifacts reach the pods."""

    model_config = rules(
        rule(
            "self.mode != 'PersistentVolumeClaim' || has(self.claim)",
            "mode PersistentVolumeClaim downloads into a claim that the operator makes: name its storage",
            ".claim",
        ),
        *(
            rule(f"self.mode == 'PersistentVolumeClaim' || !has(self.{field})", message, f".{field}")
            for field, message in _FOR_CLAIMS.items()
        ),
    )

    mode: StagingMode = Field(
        StagingMode.AUTO,
        description="Auto: what the URIs ask for. StorageUris (hf, s3, gs, https) and Modelcar (oci): the same, "
        "and other URIs are refused. PersistentVolumeClaim: downloads are made once, into a claim of the operator's.",
    )
    claim: StagingClaim | None = Field(None, description="That claim, for mode PersistentVolumeClaim.")
    env: Annotated[list[Free], Field(max_length=64)] | None = Field(
        None,
        description="Environment of the download, for mode PersistentVolumeClaim: credentials such as HF_TOKEN, "
        "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, by valueFrom.secretKeyRef.",
    )
    resources: Free | None = Field(
        None,
        description="Container resources (requests, limits) of the download, for mode PersistentVolumeClaim. Default: "
        "requests of 100m CPU and 256Mi memory, a limit of 2Gi memory. What is named here replaces all of them.",
    )
    include: Annotated[list[_Pattern], Field(min_length=1, max_length=32)] | None = Field(
        None,
        description="Files to download, as globs such as *.safetensors, for mode PersistentVolumeClaim. Default: all.",
    )
    exclude: Annotated[list[_Pattern], Field(min_length=1, max_length=32)] | None = Field(
        None,
        description="Files not to download, as globs such as *.bin, for mode PersistentVolumeClaim. Default: none.",
    )


class DeletionPolicy(StrEnum):
    """What becomes of the InferenceService and the claim when the service is deleted."""

    DELETE = "Delete"
    ORPHAN = "Orphan"


_ServedName = Annotated[str, Field(min_length=1, max_length=256, pattern=r"^[A-Za-z0-9/][A-Za-z0-9._:@/+-]*$")]
"""No word that an engine could take for a flag."""


class Adapter(Part):
    """A LoRA adapter of the target."""

    model_config = rules(
        rule("has(self.uri) || has(self.path)", "name the adapter by uri, or by path inside the target's artifact")
    )

    name: _ServedName = Field(description="Model name by which clients ask for the adapter.")
    uri: Uri | None = Field(None, description="Where it lies, as model.uri. Default: in the target's own artifact.")
    path: Folder | None = Field(None, description="Folder inside the artifact that holds adapter_config.json.")
    rank: Annotated[int, Field(ge=1, le=512)] | None = Field(
        None, description="Its rank (r in adapter_config.json), where it is more than the engine's default of 16."
    )


class Model(Part):
    """The model that answers."""

    uri: Uri = Field(
        description="Where the target model lies: pvc://CLAIM/FOLDER (a claim of this namespace), "
        "hf://OWNER/MODEL:REVISION, s3:// or gs://BUCKET/FOLDER, https://HOST/PATH (an archive, git or an "
        "Azure blob folder), oci://IMAGE:TAG (a Modelcar) or oci+native://IMAGE:TAG (an image volume)."
    )
    path: Folder | None = Field(None, description="Folder inside the artifact that holds config.json.")
    name: Annotated[str, Field(max_length=256)] | None = Field(
        None, description="Model name that clients send. Default: the name of this object."
    )
    aliases: Annotated[list[_ServedName], Field(max_length=32)] | None = Field(
        None, description="Further names that clients may send. Answers and metrics carry model.name."
    )
    adapters: Annotated[list[Adapter], Field(max_length=32, json_schema_extra=each_once("name"))] | None = Field(
        None, description="LoRA adapters, each served under a name of its own. The draft guesses for all of them."
    )


class InferenceServiceMeta(Part):
    """What is put on the InferenceService beside what the operator says there. KServe copies it to the pods."""

    labels: Labels | None = Field(
        None, description="Labels of the InferenceService, such as networking.kserve.io/visibility."
    )
    annotations: Annotations | None = Field(
        None, description="Annotations of the InferenceService, such as a platform's for its gateway or its console."
    )


class Spec(GuestRefs):
    """What the user wants served."""

    model_config = rules(
        rule(
            "!has(self.speculation) || !has(self.speculation.tokens) || self.engine.accelerator != 'ascend' "
            f"|| self.speculation.tokens <= {NPU_MOST_TOKENS}",
            f"on Ascend NPUs 1 + tokens must be <= {NPU_MOST_TOKENS + 1}: the limit of their attention kernels",
            ".speculation.tokens",
        ),
        rule(
            "!has(self.speculation) || !has(self.speculation.ascend) || self.engine.accelerator == 'ascend'",
            "speculation.ascend is vllm-ascend's own verification and needs engine.accelerator ascend",
            ".speculation.ascend",
        ),
        rule("!has(self.suspend) || !self.suspend", LATER.format("suspend"), ".suspend"),
        *rules_of_guests(),
        *rules_of_scaling(),
    )

    model: Model | None = Field(None, description="The model that answers. Absent only beside a reference.")
    speculation: Speculation | None = Field(None, description="Absent: plain serving, and nothing to guard.")
    engine: Engine = Field(default_factory=Engine, json_schema_extra={"default": {}})
    memory: Memory = Field(default_factory=Memory, json_schema_extra={"default": {}})
    staging: Staging | None = None
    resources: Free | None = Field(
        None,
        description="Container resources (requests, limits) of the engine. GPUs or NPUs are added, as many as the "
        "engine is spread over, unless a resource with a domain is named here.",
    )
    replicas: Annotated[int, Field(ge=1, le=1000)] = Field(
        1, description="Number of pods; `kubectl scale` sets it too."
    )
    autoscaling: Autoscaling | None = Field(None, description="An autoscaler sets the number of pods, not replicas.")
    pod: Pod | None = None
    inference_service: InferenceServiceMeta | None = Field(
        None,
        description="Labels and annotations of the InferenceService, which platforms read. A change replaces pods.",
    )
    rollout: Rollout = Field(default_factory=Rollout, json_schema_extra={"default": {}})
    guard: Guard = Field(default_factory=Guard, json_schema_extra={"default": {}})
    deletion_policy: DeletionPolicy = Field(
        DeletionPolicy.DELETE,
        description="What becomes of the InferenceService and the claim NAME-models when this object is deleted. "
        "Delete: they go, and the pods with them. Orphan: they stay, and the pods go on answering with nobody to guard "
        "them; status.owned names what stays. Changing it makes no new pods.",
    )
    suspend: bool = Field(False, description="True: leave what runs as it is, and judge nothing.")


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
