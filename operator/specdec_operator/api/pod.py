"""Scheduling and identity of the pods, and what is mounted into them.

Settings that a namespace of Pod Security's level `restricted` would refuse do not exist here: there is no hostPath, and
no field that grants a privilege.
"""

from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

from specdec_operator.api.security import PodSecurity
from specdec_operator.api.types import Annotations, Free, FreeList, Labels, Name, Part, Quantity, each_once, rule, rules

_MOST: Final = 32
_VolumeName = Annotated[str, Field(min_length=1, max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")]
SOURCES: Final = ("emptyDir", "configMap", "secret", "projected", "persistentVolumeClaim", "csi", "ephemeral")
"""Kinds of volumes, each of which Pod Security's level `restricted` allows."""
_TAKEN: Final = "^((specdec|kserve|modelconfig|mnt)-.*|mnt|shm|shared-memory)$"
"""Volumes of the operator, of KServe and of the runtimes."""
_RESERVED: Final = "^/(mnt$|(mnt/(target|draft|adapters|models|specdec)|etc/specdec|dev|proc|sys)(/|$))"
_FOLDERS: Final = "'.', '..' and '//' are not allowed in a path"


class Volume(Part):
    """A volume of the pods, with exactly one source."""

    model_config = rules(
        rule(
            f"[{', '.join(f'has(self.{each})' for each in SOURCES)}].filter(kind, kind).size() == 1",
            f"a volume must have exactly one source: {', '.join(SOURCES)}; hostPath is not allowed",
        ),
        rule(
            f"!self.name.matches('{_TAKEN}')",
            "this name or its prefix is reserved for the operator, KServe or a runtime; choose another",
            ".name",
        ),
    )

    name: _VolumeName = Field(description="Name that volumeMounts refer to.")
    empty_dir: Free | None = Field(None, description="A folder with the lifetime of the pod: medium, sizeLimit.")
    config_map: Free | None = Field(None, description="Files from a ConfigMap, such as a chat template: name, items.")
    secret: Free | None = Field(None, description="Files from a Secret, such as CA certificates: secretName, items.")
    projected: Free | None = Field(
        None, description=("Files from several ConfigMaps, Secrets and tokens in one folder: sources.")
    )
    persistent_volume_claim: Free | None = Field(
        None,
        description=("A PVC of this namespace: claimName, readOnly. The PVC that the operator creates is not allowed."),
    )
    csi: Free | None = Field(
        None, description="A volume that a CSI driver creates for the pod: driver, volumeAttributes."
    )
    ephemeral: Free | None = Field(None, description="A PVC with the lifetime of the pod: volumeClaimTemplate.")


class VolumeMount(Part):
    """A mount in the engine's container."""

    name: _VolumeName = Field(description="Name of one of pod.volumes.")
    mount_path: Annotated[
        str,
        Field(
            max_length=512,
            pattern=r"^/[A-Za-z0-9._/-]*$",
            json_schema_extra={
                "x-kubernetes-validations": [
                    rule("!self.matches('/[.]?[.]?(/|$)')", f"{_FOLDERS}: write the path without them"),
                    rule(
                        f"!self.matches('{_RESERVED}')",
                        "this path is reserved for models, devices, the operator or the kernel (/mnt/target, "
                        "/mnt/draft, /mnt/adapters, /mnt/models, /mnt/specdec, /etc/specdec, /dev, /proc, /sys); "
                        "choose another, such as /states",
                    ),
                ]
            },
        ),
    ] = Field(description="Folder in the container.")
    sub_path: (
        Annotated[
            str,
            Field(
                max_length=512,
                pattern=r"^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$",
                json_schema_extra={"x-kubernetes-validations": [rule("!self.matches('(^|/)[.][.]?(/|$)')", _FOLDERS)]},
            ),
        ]
        | None
    ) = Field(None, description="File or folder of the volume to mount. Default: the whole volume.")
    read_only: bool | None = Field(None, description="True: the mount is read-only. Default: false.")


class Unsatisfiable(StrEnum):
    """What becomes of a pod that would break a constraint."""

    DO_NOT_SCHEDULE = "DoNotSchedule"
    SCHEDULE_ANYWAY = "ScheduleAnyway"


class NodePolicy(StrEnum):
    """Whether nodes that a pod cannot land on count."""

    HONOR = "Honor"
    IGNORE = "Ignore"


class Spread(Part):
    """One topology spread constraint of the pods over nodes or zones."""

    topology_key: Name = Field(
        description=("Node label that defines the topology domains, such as topology.kubernetes.io/zone.")
    )
    max_skew: Annotated[int, Field(ge=1, le=1000)] = Field(
        description=("Maximum difference in the number of pods between two domains.")
    )
    when_unsatisfiable: Unsatisfiable = Field(description="DoNotSchedule (required) or ScheduleAnyway (preferred).")
    label_selector: Free | None = Field(
        None, description=("Selector of the pods to count. Default: the pods of this service.")
    )
    min_domains: Annotated[int, Field(ge=1, le=1000)] | None = Field(None, description="Minimum number of domains.")
    match_label_keys: Annotated[list[Name], Field(max_length=16)] | None = Field(
        None, description="Label keys: only pods with the same values as this pod are counted."
    )
    node_affinity_policy: NodePolicy | None = Field(
        None, description="Whether nodes excluded by nodeSelector and affinity count. Default: Honor, as in Kubernetes."
    )
    node_taints_policy: NodePolicy | None = Field(
        None,
        description=(
            "Whether nodes with taints that the pod does not tolerate count. Default: Ignore, as in Kubernetes."
        ),
    )


_KNOWN: Final = rule(
    "!has(self.volumeMounts) || "
    "self.volumeMounts.all(m, has(self.volumes) && self.volumes.exists(v, v.name == m.name))",
    "a mount must name one of pod.volumes; volumes of the runtime and of KServe are not allowed",
    ".volumeMounts",
)


class Pod(Part):
    """Scheduling, identity and mounts of the pods. The time to stop is in rollout.grace."""

    model_config = rules(_KNOWN)

    node_selector: Labels | None = Field(None, description="Labels that the node must have.")
    tolerations: FreeList | None = Field(None, description="Taints that the pods tolerate.")
    affinity: Free | None = Field(None, description="Affinity of the pods, as in Kubernetes.")
    topology_spread_constraints: (
        Annotated[list[Spread], Field(max_length=8, json_schema_extra=each_once("topologyKey"))] | None
    ) = Field(None, description="Topology spread constraints of the pods over nodes or zones.")
    scheduler_name: Name | None = Field(None, description="Scheduler of the pods. Default: the default scheduler.")
    service_account_name: Name | None = Field(None, description="Service account of the pods.")
    image_pull_secrets: FreeList | None = Field(None, description="Image pull secrets for private images.")
    priority_class_name: Name | None = Field(None, description="Priority class of the pods.")
    runtime_class_name: Name | None = Field(None, description="RuntimeClass of the pods, such as nvidia.")
    shared_memory: Quantity | None = Field(
        None, description="Size of /dev/shm, which the engine's processes share. Default: the runtime's, 1Gi in ours."
    )
    volumes: Annotated[list[Volume], Field(max_length=_MOST, json_schema_extra=each_once("name"))] | None = Field(
        None,
        description=("Additional volumes, for example for hidden states, CA certificates, chat templates or caches."),
    )
    volume_mounts: (
        Annotated[list[VolumeMount], Field(max_length=_MOST, json_schema_extra=each_once("mountPath"))] | None
    ) = Field(None, description="Mounts of these volumes in the engine's container.")
    security_context: PodSecurity | None = Field(None, description="Security context of the pods.")
    labels: Labels | None = Field(None, description="Additional labels of the pods.")
    annotations: Annotations | None = Field(None, description="Additional annotations of the pods.")
