"""The status of a SpeculativeInferenceService, as the operator writes it and people read it."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]


class Part(BaseModel):
    """Base of every object in the status."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True, extra="ignore")


class Condition(Part):
    """A Kubernetes condition."""

    type: str = Field(
        description="Ready, Reconciling, Stalled, ArtifactsStaged, RolledBack, SpeculationActive, GuardPassing, "
        "MemoryFits, Warned."
    )
    status: str = Field(description="True, False or Unknown.")
    reason: str = Field(description="Why, in one word.")
    message: str = Field(description="Why, in one sentence with numbers.")
    last_transition_time: Time = Field(description="When the status changed last.")
    observed_generation: int | None = Field(None, description="Generation of the spec that this is about.")


class Serving(Part):
    """What the pods are asked to serve now."""

    speculating: bool = Field(description="Whether the pods are asked to speculate.")
    method: str | None = Field(None, description="Method in use; `none` when plain.")
    tokens: int | None = Field(None, description="K in use; 0 when plain.")
    revision: str | None = Field(None, description="Label serving.specdec.io/revision of the pods that serve this.")
    inference_service: str | None = Field(None, description="The KServe InferenceService that this operator keeps.")
    url: str | None = Field(None, description="Where clients reach it, as KServe says.")


class Acceptance(Part):
    """What the last window with enough evidence showed, over all pods."""

    rate: float = Field(description="Accepted draft tokens / drafted tokens.")
    length: float = Field(description="1 + accepted draft tokens / drafts.")
    drafts: int = Field(description="Steps that had a draft.")
    draft_tokens: int = Field(description="Tokens drafted.")
    per_position: list[float] = Field(description="Accepted share of each draft position.")
    window_seconds: float = Field(description="Length of the window, in seconds.")
    pods: int = Field(description="Pods that were measured.")


class Thresholds(Part):
    """What the guard compares with, defaults filled in."""

    acceptance_rate: float | None = Field(None, description="Accepted / drafted tokens, at least.")
    acceptance_length: float | None = Field(None, description="1 + accepted tokens / drafts, at least.")
    min_draft_tokens: int | None = Field(None, description="Drafted tokens in a window, at least.")


class Rollback(Part):
    """Why speculation was taken out."""

    reason: str = Field(description="Why, in one word.")
    message: str = Field(description="Why, with numbers.")
    at: Time = Field(description="When it was decided.")


class GuardStatus(Part):
    """What the guard knows and must not forget."""

    state: str = Field(description="RollingOut, WarmingUp, Watching, Responding, RolledBack, Stalled or Serving.")
    since: Time = Field(description="When this state began.")
    revision: str | None = Field(None, description="Revision of the last finished rollout.")
    wanted: str | None = Field(None, description="Revision that is asked for now.")
    wanted_since: Time | None = Field(None, description="Since when; the rollout's deadline counts from there.")
    speculation: str | None = Field(None, description="Hash of the speculation that these decisions are about.")
    failures: int = Field(0, description="Failing windows in a row.")
    verdict: str | None = Field(None, description="Pass, Fail or Inconclusive: the last window.")
    reason: str | None = Field(None, description="The verdict's reason, in one word.")
    message: str | None = Field(None, description="The verdict's reason, with numbers.")
    rollback: Rollback | None = Field(None, description="Present while speculation is taken out.")
    would_roll_back: Rollback | None = Field(None, description="What mode Observe would have done.")
    rollbacks: int = Field(0, description="Rollbacks so far.")
    handled_retry: str | None = Field(None, description="Value of the retry annotation that was handled last.")
    thresholds: Thresholds | None = Field(None, description="What the windows are compared with.")


class Turn(Part):
    """One entry of the history."""

    at: Time = Field(description="When the state began.")
    state: str = Field(description="The guard's state.")
    reason: str | None = Field(None, description="Why, in one word.")
    message: str | None = Field(None, description="Why, with numbers.")


class MemoryStatus(Part):
    """The memory plan of what is served. Absent where nothing can be said: no device size, or a CPU."""

    utilization: float | None = Field(None, description="Share of the device that the engine is asked to take.")
    lowered_by: float = Field(0.0, description="By how much that is lower than asked, for what is not counted.")
    because: str = Field("", description="Why, with numbers.")
    draft_weights: int | None = Field(None, description="Bytes of the draft's weights on each device.")
    kv_price: str = Field("", description="What speculation costs the KV cache.")
    kv_tokens_predicted: int | None = Field(None, description="Tokens that the KV cache will hold.")


class Artifact(Part):
    """One download into the operator-made claim."""

    name: str = Field(description="target or draft.")
    uri: str = Field(description="Where it comes from.")
    folder: str = Field(description="Its folder in the claim; another one for another revision.")
    state: str = Field(description="Missing, Running, Failed or Done.")
    attempt: int = Field(description="How often it has been begun.")
    bytes: int | None = Field(None, description="Bytes that are there so far.")


class KServeStatus(Part):
    """The KServe that makes the pods: its version decides which artifacts it can bring."""

    version: str | None = Field(None, description="Its minor version, such as 0.20; absent where nothing tells it.")
    seen: str = Field("", description="Where the version was read.")


class Status(Part):
    """What is, and why."""

    observed_generation: int | None = Field(None, description="Generation of the spec that this status is about.")
    phase: str | None = Field(None, description="The guard's state, for people.")
    reason: str | None = Field(None, description="Why it is in this phase, in one word.")
    message: str | None = Field(None, description="Why it is in this phase, with numbers.")
    conditions: Annotated[
        list[Condition],
        Field(
            description="Ready sums up; Reconciling and Stalled are there only while true.",
            json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
        ),
    ] = []
    serving: Serving | None = Field(None, description="What the pods are asked to serve now.")
    acceptance: Acceptance | None = Field(None, description="What the last window with enough evidence showed.")
    memory: MemoryStatus | None = Field(None, description="The memory plan of what is served.")
    kserve: KServeStatus | None = Field(None, description="The KServe that makes the pods.")
    artifacts: list[Artifact] | None = Field(None, description="Downloads of staging.mode PersistentVolumeClaim.")
    guard: GuardStatus | None = Field(None, description="What the guard knows and must not forget.")
    history: list[Turn] | None = Field(None, description="The 10 newest turns.")

    def as_manifest(self) -> dict[str, Any]:
        """The status as it is written to the API server."""
        return self.model_dump(by_alias=True, exclude_none=True)
