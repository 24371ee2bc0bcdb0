"""How artifacts reach the pods."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from specdec_operator.api.base import Free, Name, Part, Quantity, rule, rules

_PATTERNS = (
    "patterns are for mode PersistentVolumeClaim: in every other mode KServe downloads, "
    "and takes patterns only from the environment of a ClusterStorageContainer"
)
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
        rule(
            "self.mode == 'PersistentVolumeClaim' || !has(self.claim)",
            "claim is for mode PersistentVolumeClaim",
            ".claim",
        ),
        rule(
            "self.mode == 'PersistentVolumeClaim' || !has(self.env)",
            "env is for the download of mode PersistentVolumeClaim; KServe's own download takes its credentials from "
            "the secrets of pod.serviceAccountName",
            ".env",
        ),
        rule("self.mode == 'PersistentVolumeClaim' || !has(self.include)", _PATTERNS, ".include"),
        rule("self.mode == 'PersistentVolumeClaim' || !has(self.exclude)", _PATTERNS, ".exclude"),
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
    include: Annotated[list[_Pattern], Field(min_length=1, max_length=32)] | None = Field(
        None,
        description="Files to download, as globs such as *.safetensors, for mode PersistentVolumeClaim. Default: all.",
    )
    exclude: Annotated[list[_Pattern], Field(min_length=1, max_length=32)] | None = Field(
        None,
        description="Files not to download, as globs such as *.bin, for mode PersistentVolumeClaim. Default: none.",
    )
