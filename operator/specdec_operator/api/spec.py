"""The spec of a SpeculativeInferenceService, as users write it. Defaults live here and so in the CRD."""

from typing import Annotated

from pydantic import Field

from specdec_operator.api.base import LATER, Folder, Free, Part, Uri, rule, rules
from specdec_operator.api.engine import Engine, Memory
from specdec_operator.api.guard import Guard
from specdec_operator.api.pod import Pod, Rollout
from specdec_operator.api.speculation import Speculation
from specdec_operator.api.staging import Staging


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


class Spec(Part):
    """What the user wants served."""

    model_config = rules(
        rule(
            "!has(self.speculation) || !has(self.speculation.tokens) || self.engine.accelerator != 'ascend' "
            "|| self.speculation.tokens <= 15",
            "on Ascend NPUs 1 + tokens must be <= 16: the limit of their attention kernels",
            ".speculation.tokens",
        ),
        rule(
            "!has(self.speculation) || !has(self.speculation.ascend) || self.engine.accelerator == 'ascend'",
            "speculation.ascend is vllm-ascend's own verification and needs engine.accelerator ascend",
            ".speculation.ascend",
        ),
        rule("!has(self.suspend) || !self.suspend", LATER.format("suspend"), ".suspend"),
    )

    model: Model
    speculation: Speculation | None = Field(None, description="Absent: plain serving, and nothing to guard.")
    engine: Engine = Field(default_factory=Engine, json_schema_extra={"default": {}})
    memory: Memory = Field(default_factory=Memory, json_schema_extra={"default": {}})
    staging: Staging | None = None
    resources: Free | None = Field(
        None,
        description="Container resources (requests, limits) of the engine. GPUs or NPUs are added, as many as the "
        "engine is spread over, unless a resource with a domain is named here.",
    )
    replicas: Annotated[int, Field(ge=1, le=1000)] = Field(1, description="Number of pods.")
    pod: Pod | None = None
    rollout: Rollout = Field(default_factory=Rollout, json_schema_extra={"default": {}})
    guard: Guard = Field(default_factory=Guard, json_schema_extra={"default": {}})
    suspend: bool = Field(False, description="True: leave what runs as it is, and judge nothing.")
