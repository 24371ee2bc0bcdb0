"""The status of a SpeculativeInferenceService, as the operator writes it and people read it."""

from typing import Final

from pydantic import Field

from specdec_operator.api.conditions import ConditionType
from specdec_operator.api.types import Stamp, StatusPart
from specdec_operator.schema.guard_status import GuardStatus

UNSEEN: Final = {"observedGeneration": -1}
"""Status of an object that the operator has not read yet. kstatus calls an object without a status Current, so Flux
would report success before the operator has read it; Flux's own kinds have this default as well.
"""


class Condition(StatusPart):
    """A Kubernetes condition."""

    type: str = Field(description=f"{', '.join(ConditionType)}.")
    status: str = Field(description="True, False or Unknown.")
    reason: str = Field(description="Reason, in one word.")
    message: str = Field(description="Explanation, in one sentence with numbers.")
    last_transition_time: Stamp = Field(description="Time of the last change of the status.")
    observed_generation: int | None = Field(None, description="Generation of the spec that this condition describes.")


class Serving(StatusPart):
    """The configuration that the operator currently requests from the pods."""

    speculating: bool = Field(description="Whether the operator requests speculation from the pods.")
    method: str | None = Field(None, description="Method in use; `none` without speculation.")
    tokens: int | None = Field(None, description="K of the pods' flags; 0 without speculation.")
    drafted: int | None = Field(
        None,
        description=(
            "K in force: that of the flags or, while the dial is set, what the ready pods report; 0: nothing is "
            "drafted; absent if they differ, or one does not report it."
        ),
    )
    revision: str | None = Field(None, description="Label serving.specdec.io/revision of these pods.")
    inference_service: str | None = Field(None, description="The KServe InferenceService that the operator manages.")
    url: str | None = Field(None, description="URL for clients, from KServe.")


class Acceptance(StatusPart):
    """What the last window with enough evidence showed, over all pods."""

    rate: float = Field(description="Accepted draft tokens / drafted tokens.")
    length: float = Field(description="1 + accepted draft tokens / drafts.")
    drafts: int = Field(description="Number of steps with a draft.")
    draft_tokens: int = Field(description="Tokens drafted.")
    per_position: list[float] = Field(
        description="Accepted share of each draft position; empty while the number of draft tokens depends on the load."
    )
    drafted_share: float | None = Field(None, description="Share of the target's steps with a draft.")
    window_seconds: float = Field(description="Length of the window, in seconds.")
    pods: int = Field(description="Number of measured pods.")


class Performance(StatusPart):
    """How fast the last window was, over all pods."""

    time_per_output_token_ms: float = Field(description="Mean over the requests that ended, in milliseconds.")
    tokens_per_second: float = Field(description="Tokens per second of all pods together.")
    requests: int = Field(description="Requests that ended.")
    load: int | None = Field(
        None,
        description=(
            "Running requests per pod, rounded to a power of two, at which most tokens were generated; absent: unknown."
        ),
    )
    speedup: float | None = Field(None, description="Baseline time per output token / this one, at the same loads.")
    speedup_low: float | None = Field(None, description="Lower end of its 95 % interval.")
    speedup_high: float | None = Field(None, description="Upper end of its 95 % interval.")
    gain_high: float | None = Field(
        None, description="Upper bound of the gain that dips in the engine show; absent: too few dips, or no dial."
    )
    gain_low: float | None = Field(
        None,
        description="Lower bound of the gain over the baseline; absent: guard.offCost was not measured for these pods.",
    )
    dips: int | None = Field(None, description="Number of these dips.")


class Scaling(StatusPart):
    """What one pod generates, and how many pods that takes: measured in the last window, or absent."""

    tokens_per_second_per_pod: float = Field(description="Tokens per second of one pod in the current mode.")
    replicas_needed: int = Field(description="Pods needed for the measured tokens per second in the current mode.")
    plain_tokens_per_second_per_pod: float | None = Field(
        None,
        description=(
            "Tokens per second of a baseline pod with the same number of concurrent requests; absent if unknown at "
            "this load."
        ),
    )
    plain_replicas_needed: int | None = Field(
        None, description=("Baseline pods needed for the measured tokens per second.")
    )
    message: str = Field(description="The same in one sentence, or the reason why a value is unknown.")


class DialRow(StatusPart):
    """Draft tokens at some loads."""

    up_to: int | None = Field(None, description="Largest number of running requests for this row; absent in the last.")
    tokens: int = Field(description="Draft tokens; 0: none.")


class DialStatus(StatusPart):
    """The requested number of draft tokens of the running pods, and whether they follow."""

    tokens: int | None = Field(None, description="Requested draft tokens; 0: none. With tokensByBatchSize, the most.")
    tokens_by_batch_size: list[DialRow] | None = Field(
        None, description="Requested draft tokens by running requests; absent: the same at each load."
    )
    pods: int | None = Field(None, description="Number of ready pods.")
    in_force: int | None = Field(None, description="Number of these whose engine reports that it drafts so.")
    reason: str = Field(description="Requested, Refused, or the guard's reason.")
    message: str = Field(description="The request, and why a pod does not follow it.")


class HistoryEntry(StatusPart):
    """One entry of the history."""

    at: Stamp = Field(description="Time at which the state began.")
    state: str = Field(description="The guard's state.")
    reason: str | None = Field(None, description="Reason, in one word.")
    message: str | None = Field(None, description="Reason, with numbers.")
    rate: float | None = Field(None, description="Accepted / drafted tokens of the last window at that time.")


class CacheUseStatus(StatusPart):
    """What was drafted in the newest window in which so much of the KV cache was in use."""

    used: float = Field(description="Largest share of the KV cache in use in the window.")
    drafts: int = Field(description="Number of steps with a draft.")
    draft_tokens: int = Field(description="Tokens drafted.")
    accepted_tokens: int = Field(description="Drafted tokens that were accepted.")


class MemoryStatus(StatusPart):
    """The memory plan of the current configuration. Absent if nothing is planned or measured."""

    utilization: float | None = Field(
        None, description=("Share of the device that the operator requests for the engine.")
    )
    lowered_by: float = Field(
        0.0, description=("By how much that share is lowered for memory that the engine does not count.")
    )
    because: str = Field("", description="Reason, with numbers.")
    device: int | None = Field(None, description="Bytes of one device, as used in the plan; absent if unknown.")
    device_source: str = Field(
        "",
        description=(
            "Source of the size, or the reason why it is unknown. The operator detects it again after a change of "
            "model, engine, pod or resources."
        ),
    )
    draft_weights: int | None = Field(None, description="Bytes of the draft's weights on each device.")
    kv_price: str = Field("", description="How much smaller the KV cache is with speculation.")
    kv_tokens_predicted: int | None = Field(None, description="Planned capacity of the KV cache, in tokens.")
    kv_tokens_measured: int | None = Field(
        None, description="Tokens that the KV cache of a speculating pod holds, as the engine reports it."
    )
    kv_tokens_plain_measured: int | None = Field(
        None, description="The same value of a baseline pod, if one was measured."
    )
    kv_tokens_difference_percent: int | None = Field(
        None,
        description=(
            "Difference of measured and planned tokens, in percent of the planned ones, for one data-parallel rank."
        ),
    )
    kv_requests_measured: float | None = Field(
        None, description="Number of requests of the maximum length that fit in the KV cache, as the engine reports it."
    )
    kv_used_most: float | None = Field(
        None, description="Largest observed share of the KV cache in use since these pods serve, in steps of 0.05."
    )
    acceptance_by_cache_use: list[CacheUseStatus] | None = Field(
        None, description="The newest window for each quarter of the KV cache in use, since these pods serve."
    )
    device_used: int | None = Field(
        None, description="Largest observed use of the device or, on a CPU, of the container, in bytes."
    )
    utilization_measured: float | None = Field(None, description="Share of the device that the engine reports.")
    recommendation: str | None = Field(
        None, description=("Recommendation if the KV cache is nearly full or mostly free.")
    )


class FactStatus(StatusPart):
    """What a pod reported about a model that it loaded, about its device, or about its engine."""

    role: str = Field(description="Target, Draft, Device or Engine.")
    about: str = Field(
        description=(
            "Hash of the artifact, or of the fields that choose the device or the engine. A change makes this entry "
            "invalid."
        )
    )
    bytes: int | None = Field(None, description="Size of its tensors, or of one device, in bytes.")
    config: str | None = Field(None, description="The values of its config.json that determine memory, as JSON.")
    engine: str | None = Field(None, description="The engine that the pod found in its image, such as vllm 0.33.0.")
    used: bool = Field(
        False, description=("Whether the plan of the current pods used it; if not, the next rollout does.")
    )


class ArtifactStatus(StatusPart):
    """One download into the PVC that the operator created."""

    name: str = Field(description="target or draft.")
    uri: str = Field(description="Source URI of the artifact.")
    folder: str = Field(description="Its folder in the PVC. Each revision has its own folder.")
    state: str = Field(description="Missing, Running, Failed or Done.")
    attempt: int = Field(description="Number of attempts.")
    bytes: int | None = Field(None, description="Bytes downloaded so far.")


class OwnedObject(StatusPart):
    """An object that belongs to this service without an owner reference."""

    kind: str = Field(description="InferenceService or PersistentVolumeClaim.")
    name: str = Field(description="Its name.")
    uid: str = Field(description="Its UID. Another object with this name does not belong to this service.")


class KServeStatus(StatusPart):
    """The KServe that makes the pods: its version decides which artifacts it can bring."""

    version: str | None = Field(None, description="Its minor version, such as 0.20; absent if unknown.")
    seen: str = Field("", description="Source of the version.")


class Status(StatusPart):
    """The observed state and its reasons."""

    observed_generation: int | None = Field(None, description="Generation of the spec that this status describes.")
    phase: str | None = Field(None, description="The guard's state, for people.")
    reason: str | None = Field(None, description="Reason of the phase, in one word.")
    message: str | None = Field(None, description="Reason of the phase, with numbers.")
    conditions: list[Condition] = Field(
        default_factory=list,
        description="Ready is the summary. Reconciling and Stalled are present only while they are true.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
    )
    serving: Serving | None = Field(
        None, description=("The configuration that the operator currently requests from the pods.")
    )
    replicas: int | None = Field(None, description="Number of pods of Deployment NAME-predictor.")
    ready_replicas: int | None = Field(None, description="Number of these pods that are ready.")
    selector: str | None = Field(None, description="Label selector of these pods, for autoscalers of this object.")
    scaling: Scaling | None = Field(None, description="Tokens per second of one pod, and the number of pods needed.")
    acceptance: Acceptance | None = Field(None, description="Result of the last window with enough evidence.")
    performance: Performance | None = Field(None, description="Speed in the last window.")
    memory: MemoryStatus | None = Field(None, description="The memory plan of the current configuration.")
    kserve: KServeStatus | None = Field(None, description="The KServe that creates the pods.")
    facts: list[FactStatus] | None = Field(
        None, description="What the pods reported about models, devices and engines."
    )
    artifacts: list[ArtifactStatus] | None = Field(None, description="Downloads of staging.mode PersistentVolumeClaim.")
    owned: list[OwnedObject] | None = Field(
        None,
        description=(
            "Objects that stay when this object is deleted (deletionPolicy Orphan). They have no owner reference."
        ),
    )
    guard: GuardStatus | None = Field(None, description="Persistent state of the guard.")
    dial: DialStatus | None = Field(None, description="The dial; absent while it is not set.")
    history: list[HistoryEntry] | None = Field(None, description="The 10 newest states of the service.")
