"""Identity and privileges of the pods and of the engine's container. Only values that Pod Security's level `restricted`
allows exist here.

KServe merges the container's part over that of the runtime, so that nothing here may take anything back.
"""

from enum import StrEnum
from typing import Annotated, Final, Literal

from pydantic import Field, WithJsonSchema

from specdec_operator.api.types import Part, rule, rules

_MOST_ID: Final = 2**31 - 1
_User = Annotated[int, Field(ge=1, le=_MOST_ID)]
_Group = Annotated[int, Field(ge=0, le=_MOST_ID)]
_Yes = Annotated[Literal[True], WithJsonSchema({"type": "boolean", "enum": [True]})]
_No = Annotated[Literal[False], WithJsonSchema({"type": "boolean", "enum": [False]})]
_USER: Final = "Numeric user id of the processes; root is not allowed. Default: the user of the image."


class SeccompType(StrEnum):
    """The allowed system calls."""

    RUNTIME_DEFAULT = "RuntimeDefault"
    LOCALHOST = "Localhost"


class SeccompProfile(Part):
    """The allowed system calls."""

    model_config = rules(
        rule(
            "(self.type == 'Localhost') == has(self.localhostProfile)",
            "set localhostProfile with type Localhost, and only with it",
            ".localhostProfile",
        )
    )

    type: SeccompType = Field(description="RuntimeDefault, or Localhost for a profile file on the node.")
    localhost_profile: Annotated[str, Field(max_length=512)] | None = Field(
        None, description="Path of the profile file in the kubelet's profile folder."
    )


class GroupChange(StrEnum):
    """When the files of a volume are given to fsGroup."""

    ON_ROOT_MISMATCH = "OnRootMismatch"
    ALWAYS = "Always"


class PodSecurity(Part):
    """As whom the pods run, within Pod Security's level `restricted`."""

    run_as_user: _User | None = Field(None, description=_USER)
    run_as_group: _Group | None = Field(
        None, description="Numeric group id of the processes. Default: the group of the image."
    )
    run_as_non_root: _Yes | None = Field(None, description="True: the kubelet starts no container as root.")
    fs_group: _Group | None = Field(None, description="Group that owns the files of the volumes.")
    fs_group_change_policy: GroupChange | None = Field(
        None,
        description=(
            "OnRootMismatch changes the group of files only if the folder does not belong to fsGroup yet. Use it for "
            "large models."
        ),
    )
    supplemental_groups: Annotated[list[_Group], Field(max_length=32)] | None = Field(
        None, description="Additional group ids of the processes."
    )
    seccomp_profile: SeccompProfile | None = Field(None, description="Which system calls are allowed.")


class Capabilities(Part):
    """Rights of root that processes have or give up."""

    drop: Annotated[
        list[Annotated[Literal["ALL"], WithJsonSchema({"type": "string", "enum": ["ALL"]})]],
        Field(min_length=1, max_length=1),
    ] = Field(description="[ALL]: drop all capabilities.")


class ContainerSecurity(Part):
    """As whom the engine's container runs, within Pod Security's level `restricted`."""

    run_as_user: _User | None = Field(None, description=_USER)
    run_as_group: _Group | None = Field(
        None, description="Numeric group id of the processes. Default: the group of the image."
    )
    run_as_non_root: _Yes | None = Field(None, description="True: the kubelet does not start it as root.")
    read_only_root_filesystem: bool | None = Field(
        None,
        description="True: the root file system is read-only. Engines write caches, so mount an emptyDir for them.",
    )
    allow_privilege_escalation: _No | None = Field(
        None, description="False: no process gets more privileges than its parent."
    )
    capabilities: Capabilities | None = Field(None, description="Capabilities of the container.")
    seccomp_profile: SeccompProfile | None = Field(None, description="Which system calls are allowed.")
