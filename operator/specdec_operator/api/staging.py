"""How artifacts reach the pods: spec.staging, as users write it."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from specdec_operator.api.types import Free, Name, Part, Quantity, rule, rules
from specdec_operator.staging.schemes import REMOTE

_PATTERNS = (
    "patterns need mode PersistentVolumeClaim: in other modes KServe downloads, and reads patterns only from the "
    "environment of a ClusterStorageContainer"
)
_FOR_CLAIMS = {
    "claim": "`claim` needs mode PersistentVolumeClaim",
    "env": "env needs mode PersistentVolumeClaim; KServe's own download uses the credentials in the secrets of "
    "pod.serviceAccountName",
    "resources": "resources need mode PersistentVolumeClaim; set those of KServe's own download in its "
    "ClusterStorageContainer",
    **dict.fromkeys(("include", "exclude"), _PATTERNS),
}
"""Fields of staging for one mode only, and the messages for the other modes."""
_Pattern = Annotated[str, Field(min_length=1, max_length=256)]


class StagingMode(StrEnum):
    """How artifacts reach the pods."""

    AUTO = "Auto"
    STORAGE_URIS = "StorageUris"
    MODELCAR = "Modelcar"
    PERSISTENT_VOLUME_CLAIM = "PersistentVolumeClaim"


class AccessMode(StrEnum):
    """How many nodes can mount a PVC at the same time. Pods only read, but a download writes."""

    READ_WRITE_ONCE = "ReadWriteOnce"
    READ_WRITE_MANY = "ReadWriteMany"


class StagingClaim(Part):
    """The PVC NAME-models that the operator creates for downloads."""

    storage: Quantity = Field(
        description=(
            "Size of the PVC, such as 200Gi. It must hold both models, and during a change of revision also the old "
            "one."
        )
    )
    storage_class_name: Name | None = Field(None, description="Storage class. Default: the cluster's default class.")
    access_modes: Annotated[list[AccessMode], Field(min_length=1, max_length=2)] = Field(
        [AccessMode.READ_WRITE_ONCE],
        description="ReadWriteOnce: all pods run on one node; every storage class supports it. Pods on several nodes "
        "need ReadWriteMany.",
        json_schema_extra={"default": [AccessMode.READ_WRITE_ONCE.value]},
    )


class Staging(Part):
    """How artifacts reach the pods."""

    model_config = rules(
        rule(
            "self.mode != 'PersistentVolumeClaim' || has(self.claim)",
            "mode PersistentVolumeClaim downloads into a PVC that the operator creates: set `claim.storage`",
            ".claim",
        ),
        *(
            rule(f"self.mode == 'PersistentVolumeClaim' || !has(self.{field})", message, f".{field}")
            for field, message in _FOR_CLAIMS.items()
        ),
    )

    mode: StagingMode = Field(
        StagingMode.AUTO,
        description=f"Auto: depends on the URIs. StorageUris ({', '.join(REMOTE)}) and Modelcar (oci): the same, and "
        "other URIs are rejected. PersistentVolumeClaim: a Job downloads each artifact once, into a PVC "
        "that the operator creates.",
    )
    claim: StagingClaim | None = Field(None, description="The PVC of mode PersistentVolumeClaim.")
    env: Annotated[list[Free], Field(max_length=64)] | None = Field(
        None,
        description="Environment of the download, for mode PersistentVolumeClaim: credentials such as HF_TOKEN, "
        "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, by valueFrom.secretKeyRef.",
    )
    resources: Free | None = Field(
        None,
        description="Container resources (requests, limits) of the download, for mode PersistentVolumeClaim. Default: "
        "requests of 100m CPU and 256Mi memory, a limit of 2Gi memory. If set, it replaces all defaults.",
    )
    include: Annotated[list[_Pattern], Field(min_length=1, max_length=32)] | None = Field(
        None,
        description="Files to download, as globs such as *.safetensors, for mode PersistentVolumeClaim. Default: all.",
    )
    exclude: Annotated[list[_Pattern], Field(min_length=1, max_length=32)] | None = Field(
        None,
        description="Files not to download, as globs such as *.bin, for mode PersistentVolumeClaim. Default: none.",
    )
