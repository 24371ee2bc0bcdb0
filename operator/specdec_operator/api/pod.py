"""Where and as whom the pods run, and what is mounted into them.

What a namespace of Pod Security's level `restricted` would refuse cannot be said here: there is no hostPath, and no
field that gives a right.
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
_RESERVED: Final = "^/(mnt$|(mnt/(target|draft|adapters|models|specdec)|dev|proc|sys)(/|$))"
_FOLDERS: Final = "'.', '..' and '//' are no folders"


class Volume(Part):
    """A volume of the pods: one kind each."""

    model_config = rules(
        rule(
            f"[{', '.join(f'has(self.{each})' for each in SOURCES)}].filter(kind, kind).size() == 1",
            f"a volume is of one kind: {', '.join(SOURCES)}; there is no hostPath",
        ),
        rule(
            f"!self.name.matches('{_TAKEN}')",
            "this name, or what it begins with, is the operator's, KServe's or a runtime's; choose another",
            ".name",
        ),
    )

    name: _VolumeName = Field(description="Name that volumeMounts call it by.")
    empty_dir: Free | None = Field(None, description="A folder that lives as long as the pod: medium, sizeLimit.")
    config_map: Free | None = Field(None, description="Files from a ConfigMap, such as a chat template: name, items.")
    secret: Free | None = Field(None, description="Files from a Secret, such as CA certificates: secretName, items.")
    projected: Free | None = Field(None, description="Files from several of these and tokens, in one folder: sources.")
    persistent_volume_claim: Free | None = Field(
        None, description="A claim of this namespace: claimName, readOnly. Not the one that the operator makes."
    )
    csi: Free | None = Field(
        None, description="A volume that a CSI driver makes for the pod: driver, volumeAttributes."
    )
    ephemeral: Free | None = Field(None, description="A claim that lives as long as the pod: volumeClaimTemplate.")


class VolumeMount(Part):
    """A volume in the engine's container."""

    name: _VolumeName = Field(description="One of pod.volumes.")
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
                        "models, devices, the operator's and the kernel's folders are mounted there "
                        "(/mnt/target, /mnt/draft, /mnt/adapters, /mnt/models, /mnt/specdec, /dev, /proc, /sys); "
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
    ) = Field(None, description="File or folder of the volume to mount. Default: all of it.")
    read_only: bool | None = Field(None, description="True: nothing can be written there. Default: false.")


class Unsatisfiable(StrEnum):
    """What becomes of a pod that would break a constraint."""

    DO_NOT_SCHEDULE = "DoNotSchedule"
    SCHEDULE_ANYWAY = "ScheduleAnyway"


class NodePolicy(StrEnum):
    """Whether nodes that a pod cannot land on count."""

    HONOR = "Honor"
    IGNORE = "Ignore"


class Spread(Part):
    """How evenly pods are spread over nodes or zones."""

    topology_key: Name = Field(description="Label of nodes that tells the places apart: topology.kubernetes.io/zone.")
    max_skew: Annotated[int, Field(ge=1, le=1000)] = Field(description="By how many pods two places may differ.")
    when_unsatisfiable: Unsatisfiable = Field(description="DoNotSchedule, or ScheduleAnyway: only if it can be had.")
    label_selector: Free | None = Field(None, description="Pods that count. Default: those of this service.")
    min_domains: Annotated[int, Field(ge=1, le=1000)] | None = Field(None, description="Least number of places.")
    match_label_keys: Annotated[list[Name], Field(max_length=16)] | None = Field(
        None, description="Labels of the pod whose values the pods that count have too."
    )
    node_affinity_policy: NodePolicy | None = Field(
        None, description="Whether nodes outside of nodeSelector and affinity count. Default: Kubernetes', Honor."
    )
    node_taints_policy: NodePolicy | None = Field(
        None, description="Whether nodes with taints count that are not tolerated. Default: Kubernetes', Ignore."
    )


_KNOWN: Final = rule(
    "!has(self.volumeMounts) || "
    "self.volumeMounts.all(m, has(self.volumes) && self.volumes.exists(v, v.name == m.name))",
    "a mount names one of pod.volumes; volumes of the runtime and of KServe are theirs",
    ".volumeMounts",
)


class Pod(Part):
    """Where and as whom the pods run, and what is mounted into them. How long they may take to stop: rollout.grace."""

    model_config = rules(_KNOWN)

    node_selector: Labels | None = Field(None, description="Labels that the node must carry.")
    tolerations: FreeList | None = Field(None, description="Taints that the pods tolerate.")
    affinity: Free | None = Field(None, description="Kubernetes' affinity of the pods.")
    topology_spread_constraints: (
        Annotated[list[Spread], Field(max_length=8, json_schema_extra=each_once("topologyKey"))] | None
    ) = Field(None, description="How evenly the pods are spread over nodes or zones.")
    scheduler_name: Name | None = Field(None, description="Scheduler of the pods. Default: Kubernetes' own.")
    service_account_name: Name | None = Field(None, description="Service account of the pods.")
    image_pull_secrets: FreeList | None = Field(None, description="Secrets for private images.")
    priority_class_name: Name | None = Field(None, description="Priority class of the pods.")
    runtime_class_name: Name | None = Field(None, description="RuntimeClass of the pods, such as nvidia.")
    shared_memory: Quantity | None = Field(
        None, description="Size of /dev/shm, which the engine's processes share. Default: the runtime's, 1Gi in ours."
    )
    volumes: Annotated[list[Volume], Field(max_length=_MOST, json_schema_extra=each_once("name"))] | None = Field(
        None, description="Further volumes: hidden states, CA certificates, chat templates, caches."
    )
    volume_mounts: (
        Annotated[list[VolumeMount], Field(max_length=_MOST, json_schema_extra=each_once("mountPath"))] | None
    ) = Field(None, description="Where they are mounted in the engine's container.")
    security_context: PodSecurity | None = Field(None, description="As whom the pods run.")
    labels: Labels | None = Field(None, description="Labels that are added to the pods.")
    annotations: Annotations | None = Field(None, description="Annotations that are added to the pods.")
