"""As whom the pods and the engine's container run: only what Pod Security's level `restricted` allows can be said.

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
_USER: Final = "User that runs the processes, by its number; root has none here. Default: the image's."


class SeccompType(StrEnum):
    """Which system calls the kernel lets through."""

    RUNTIME_DEFAULT = "RuntimeDefault"
    LOCALHOST = "Localhost"


class SeccompProfile(Part):
    """Which system calls the kernel lets through."""

    model_config = rules(
        rule(
            "(self.type == 'Localhost') == has(self.localhostProfile)",
            "localhostProfile is for type Localhost, which needs it",
            ".localhostProfile",
        )
    )

    type: SeccompType = Field(description="RuntimeDefault, or Localhost: a file of the node.")
    localhost_profile: Annotated[str, Field(max_length=512)] | None = Field(
        None, description="That file, below the kubelet's folder of profiles."
    )


class GroupChange(StrEnum):
    """When the files of a volume are given to fsGroup."""

    ON_ROOT_MISMATCH = "OnRootMismatch"
    ALWAYS = "Always"


class PodSecurity(Part):
    """As whom the pods run, within Pod Security's level `restricted`."""

    run_as_user: _User | None = Field(None, description=_USER)
    run_as_group: _Group | None = Field(None, description="Group of the processes. Default: the image's.")
    run_as_non_root: _Yes | None = Field(None, description="True: the kubelet starts no container as root.")
    fs_group: _Group | None = Field(None, description="Group that the files of the volumes are given to.")
    fs_group_change_policy: GroupChange | None = Field(
        None,
        description="OnRootMismatch gives files to fsGroup only where the folder is not its own yet: large models.",
    )
    supplemental_groups: Annotated[list[_Group], Field(max_length=32)] | None = Field(
        None, description="Further groups of the processes."
    )
    seccomp_profile: SeccompProfile | None = Field(None, description="Which system calls the kernel lets through.")


class Capabilities(Part):
    """Rights of root that processes have or give up."""

    drop: Annotated[
        list[Annotated[Literal["ALL"], WithJsonSchema({"type": "string", "enum": ["ALL"]})]],
        Field(min_length=1, max_length=1),
    ] = Field(description="[ALL]: all of them are given up.")


class ContainerSecurity(Part):
    """As whom the engine's container runs, within Pod Security's level `restricted`."""

    run_as_user: _User | None = Field(None, description=_USER)
    run_as_group: _Group | None = Field(None, description="Group of the processes. Default: the image's.")
    run_as_non_root: _Yes | None = Field(None, description="True: the kubelet does not start it as root.")
    read_only_root_filesystem: bool | None = Field(
        None, description="True: the image's files cannot be changed. Engines write caches: mount an emptyDir for them."
    )
    allow_privilege_escalation: _No | None = Field(
        None, description="False: no process gets more rights than its parent."
    )
    capabilities: Capabilities | None = Field(None, description="Rights of root that are given up.")
    seccomp_profile: SeccompProfile | None = Field(None, description="Which system calls the kernel lets through.")
