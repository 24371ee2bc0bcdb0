"""The spec of a SpeculativeInferenceService, as users write it. Defaults live here and so in the CRD.

Reading tolerates unknown fields, so that an older operator survives a newer CRD; the API server refuses them on write.
"""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic.config import JsonDict

from specdec_operator.api.units import Duration


def rule(expression: str, message: str, path: str | None = None) -> JsonDict:
    """One CEL rule of the CRD; `path` is the field that the API server names."""
    named: JsonDict = {"fieldPath": path} if path else {}
    return {"rule": expression, "message": message, **named}


class Part(BaseModel):
    """Base of every object in the spec."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True, extra="ignore")


def _rules(*rules: JsonDict) -> ConfigDict:
    return ConfigDict(json_schema_extra={"x-kubernetes-validations": list(rules)})


Free = Annotated[dict[str, Any], Field(json_schema_extra={"x-kubernetes-preserve-unknown-fields": True})]
"""An object of Kubernetes' own that is passed on as it is."""

Uri = Annotated[
    str,
    Field(
        max_length=1024,
        json_schema_extra={
            "x-kubernetes-validations": [
                rule(
                    "self.startsWith('pvc://')",
                    "must be pvc://CLAIM or pvc://CLAIM/FOLDER, the scheme this version serves",
                )
            ]
        },
    ),
]
Folder = Annotated[str, Field(max_length=512, pattern=r"^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*$")]
Text = Annotated[str, Field(max_length=4096)]


class Accelerator(StrEnum):
    """What the engine runs on; each has its ClusterServingRuntime, specdec-<accelerator>."""

    NVIDIA = "nvidia"
    ASCEND = "ascend"
    CPU = "cpu"


class Method(StrEnum):
    """How the next tokens are guessed."""

    DRAFT_MODEL = "draft_model"
    NGRAM = "ngram"


class GuardMode(StrEnum):
    """What the guard may do."""

    ENFORCE = "Enforce"
    OBSERVE = "Observe"
    OFF = "Off"


class Strategy(StrEnum):
    """How a change of the pods is rolled out."""

    SURGE = "Surge"
    REPLACE = "Replace"


class Model(Part):
    """The model that answers."""

    uri: Uri = Field(description="Where the target model lies: pvc://CLAIM or pvc://CLAIM/FOLDER.")
    path: Folder | None = Field(None, description="Folder inside the artifact that holds config.json.")
    name: Annotated[str, Field(max_length=256)] | None = Field(
        None, description="Model name that clients send. Default: the name of this object."
    )


class Draft(Part):
    """The small model that guesses. Without `uri` it lies in the target's artifact, under `path`."""

    model_config = _rules(
        rule(
            "has(self.uri) || has(self.path)",
            "name the draft by uri, or by path inside the target's artifact",
        )
    )

    uri: Uri | None = Field(None, description="Where the draft model lies: pvc://CLAIM or pvc://CLAIM/FOLDER.")
    path: Folder | None = Field(None, description="Folder inside the artifact that holds the draft's config.json.")


class Ngram(Part):
    """How many of the last tokens are looked up in the text so far."""

    model_config = _rules(rule("self.lookupMin <= self.lookupMax", "lookupMin must be <= lookupMax", ".lookupMin"))

    lookup_min: Annotated[int, Field(ge=1, le=128)] = Field(2, description="Shortest match, in tokens.")
    lookup_max: Annotated[int, Field(ge=1, le=128)] = Field(5, description="Longest match, in tokens.")


class Speculation(Part):
    """What guesses the next tokens. A change here forgets an earlier rollback."""

    model_config = _rules(
        rule("self.method != 'draft_model' || has(self.draft)", "method draft_model needs a draft", ".draft"),
        rule(
            "self.method != 'ngram' || !has(self.draft)",
            "method ngram guesses from the text itself and takes no draft",
            ".draft",
        ),
        rule("self.method == 'ngram' || !has(self.ngram)", "ngram is only for method ngram", ".ngram"),
    )

    method: Method = Field(
        description="draft_model (a smaller model of the same vocabulary) or ngram (look-up in the text)."
    )
    tokens: Annotated[int, Field(ge=1, le=128)] = Field(description="K: tokens guessed per step.")
    draft: Draft | None = None
    ngram: Ngram | None = None


OWNED_FLAGS = ("--model", "--served-model-name", "--port", "--speculative-config", "--gpu-memory-utilization")
"""Flags that the operator renders from the spec and so refuses in engine.args."""


class Engine(Part):
    """How vLLM runs."""

    accelerator: Accelerator = Field(Accelerator.NVIDIA, description="nvidia, ascend or cpu.")
    runtime: Annotated[str, Field(max_length=253)] | None = Field(
        None, description="ServingRuntime or ClusterServingRuntime to use. Default: specdec-<accelerator>."
    )
    max_model_len: Annotated[int, Field(ge=1)] | None = Field(None, description="Longest sequence, in tokens.")
    max_num_seqs: Annotated[int, Field(ge=1)] | None = Field(None, description="Most requests in one batch.")
    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)] | None = Field(
        None, description="Share of the device's memory that vLLM may use. Default: the engine's own."
    )
    enforce_eager: bool = Field(False, description="Run without graph capture: slower, but starts sooner.")
    args: Annotated[list[Text], Field(max_length=64)] | None = Field(
        None,
        description="Further vLLM flags, one `--flag=value` each.",
        json_schema_extra={
            "x-kubernetes-validations": [
                rule(
                    f"!self.exists(a, {list(OWNED_FLAGS)}.exists(f, a == f || a.startsWith(f + '=')))",
                    f"these flags are rendered by the operator: {', '.join(OWNED_FLAGS)}",
                )
            ]
        },
    )
    env: Annotated[list[Free], Field(max_length=64)] | None = Field(
        None, description="Environment of the engine's container."
    )


class Pod(Part):
    """Where and as whom the pods run."""

    node_selector: dict[str, str] | None = Field(None, description="Labels that the node must carry.")
    tolerations: list[Free] | None = Field(None, description="Taints that the pods tolerate.")
    affinity: Free | None = Field(None, description="Kubernetes' affinity of the pods.")
    service_account_name: str | None = Field(None, description="Service account of the pods.")
    image_pull_secrets: list[Free] | None = Field(None, description="Secrets for private images.")
    priority_class_name: str | None = Field(None, description="Priority class of the pods.")
    labels: dict[str, str] | None = Field(None, description="Labels that are added to the pods.")
    annotations: dict[str, str] | None = Field(None, description="Annotations that are added to the pods.")


class Rollout(Part):
    """How a change reaches the pods."""

    strategy: Strategy = Field(
        Strategy.SURGE,
        description="Surge starts the new pod beside the old one and needs room for both; Replace stops it first.",
    )
    deadline: Duration = Field(
        "30m", validate_default=True, description="Longest time for the new pods to become ready."
    )


class AcceptanceRate(Part):
    """Accepted draft tokens / drafted tokens."""

    min: Annotated[float, Field(ge=0, le=1)] = Field(description="Below this, a window fails.")


class AcceptanceLength(Part):
    """1 + accepted draft tokens / drafts: tokens that one step of the target yields."""

    min: Annotated[float, Field(ge=1)] = Field(description="Below this, a window fails.")


class Guard(Part):
    """When speculation is taken out. A window with too little evidence never counts against it."""

    model_config = _rules(
        rule("duration(self.interval) >= duration('1s')", "interval must be at least 1s", ".interval"),
        rule(
            "duration(self.window) >= duration(self.interval)",
            "window must be at least one interval",
            ".window",
        ),
    )

    mode: GuardMode = Field(
        GuardMode.ENFORCE,
        description="Enforce acts; Observe only says what it would have done; Off does not look.",
    )
    interval: Duration = Field("15s", validate_default=True, description="Time between two looks at the pods' metrics.")
    window: Duration = Field("2m", validate_default=True, description="Length of one window. Windows do not overlap.")
    warmup: Duration = Field("1m", validate_default=True, description="Time after a rollout that is not judged.")
    failure_limit: Annotated[int, Field(ge=1, le=100)] = Field(
        3, description="Failing windows in a row that end speculation."
    )
    min_draft_tokens: Annotated[int, Field(ge=1)] = Field(
        1000, description="Fewer drafted tokens in a window prove nothing."
    )
    acceptance_rate: AcceptanceRate | None = Field(
        None, description="Default: by method, shown in status.guard.thresholds."
    )
    acceptance_length: AcceptanceLength | None = None


class Spec(Part):
    """What the user wants served."""

    model: Model
    speculation: Speculation | None = Field(None, description="Absent: plain serving, and nothing to guard.")
    engine: Engine = Field(default_factory=Engine, json_schema_extra={"default": {}})
    resources: Free | None = Field(None, description="Container resources (requests, limits) of the engine.")
    replicas: Annotated[int, Field(ge=1, le=1000)] = Field(1, description="Number of pods.")
    pod: Pod | None = None
    rollout: Rollout = Field(default_factory=Rollout, json_schema_extra={"default": {}})
    guard: Guard = Field(default_factory=Guard, json_schema_extra={"default": {}})
