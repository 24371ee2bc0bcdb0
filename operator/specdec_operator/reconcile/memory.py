"""What is kept of one service between two reconciles: one frozen value.

All of it can be rebuilt; decisions live in the status.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from specdec_engine.case import Json
from specdec_engine.memory.facts import PodFact, Role
from specdec_operator.api.guard import Guard
from specdec_operator.api.spec import DeletionPolicy
from specdec_operator.errors import Invalid
from specdec_operator.guard.dial import DialAnswer, DialRequest
from specdec_operator.guard.judge import Judged
from specdec_operator.guard.policy import Thresholds
from specdec_operator.guard.sampler import Sampler
from specdec_operator.guard.state import State
from specdec_operator.guest.view import GuestPods
from specdec_operator.guest.write import GuestWrites
from specdec_operator.observe.inference_service import KServeError, MetadataMarks
from specdec_operator.observe.pods import ENGINE_PORT
from specdec_operator.reconcile.sis import Sis
from specdec_operator.reconcile.write_conflict import WriteConflict
from specdec_operator.report.events import Event
from specdec_operator.report.facts_codec import facts_of
from specdec_operator.report.guard_status import kept_state
from specdec_operator.report.readable import readable

_SHOWN_WITHIN: Final = 1.0
"""Seconds within which the watch shows our own write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """The InferenceService as it was applied last: digest and metadata of the manifest, generation then, uid, and when,
    epoch seconds.
    """

    digest: str
    generation: int
    metadata: MetadataMarks
    at: float
    uid: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedManifest:
    """What was refused: the digest of the InferenceService that it was for, the refusal, and when.

    adopts: whether the service was allowed to take over what has its names.
    """

    digest: str
    error: Invalid
    at: float
    adopts: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingPlan:
    """Which pods are read until the next full reconcile, and what their windows are compared with.

    revision: of these pods. with_baseline: whether the baseline pods are read with them. guest: where the pods of a
    guest are. port: where their engines listen.
    """

    guard: Guard
    thresholds: Thresholds
    revision: str
    with_baseline: bool = False
    guest: GuestPods | None = None
    port: int = ENGINE_PORT


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeJob:
    """A download Job as it was made last: which one, and when."""

    uid: str
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadMemory:
    """`claim`, claim_uid: the PVC as it was applied last. jobs: those created last, by name.

    let_go: whether the PVC was seen to have no owner reference; None: it was not read. adopted: Events of what was
    taken over, to be sent. denied: why the PVC or a Job could not be created at the last try.
    """

    jobs: Mapping[str, MadeJob] = field(default_factory=dict)
    claim: Mapping[str, Any] | None = None
    claim_uid: str = ""
    let_go: bool | None = None
    adopted: tuple[Event, ...] = ()
    denied: KServeError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetMemory:
    """wanted: the PodDisruptionBudget that the spec required last, None for none. due: when it is read again anyway.
    `told`: the message about it in the last Event: why it could not be created at the last try.
    """

    wanted: Mapping[str, Any] | None = None
    due: float = 0.0
    told: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselinePodsMemory:
    """wanted: number of baseline pods, and revision of the speculating pods that they were made from last; at: when.
    refusal: why they could not be created at the last try; due: when that is tried again.
    """

    wanted: tuple[int, str] | None = None
    at: float = 0.0
    refusal: str = ""
    due: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FactMemory:
    """kept: what pods reported, as the status has it. configs: config.json as this process read it, with the hash of
    what it is about. asked: the revision whose pod was read last; due: when a pod of it may be read again. used: bytes
    of its device that the pod reported as taken.
    """

    kept: tuple[PodFact, ...] = ()
    configs: Mapping[Role, tuple[str, Json]] = field(default_factory=dict)
    asked: str | None = None
    used: int | None = None
    due: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenSetting:
    """A setting that was written to a pod: it counts until the watch shows another text than `before`, or for a while.

    at: when, epoch seconds. times: how often in a row, because the pod did not follow.
    """

    text: str
    before: str
    at: float
    times: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class DialMemory:
    """request: what the pods were asked for last. answers: what they draft, by pod; due: when they are read again, at
    this port. watched: the pods that are read. offers: K of each pod that answered before; 0: it has no dial. late:
    since when a pod was read not to follow. followed: whether all have followed since the tokens changed. written:
    settings that the watch may not show yet, by pod. denied: why the last one was refused; again: when a setting is
    tried again; denied_at: when it was refused. Times are epoch seconds.
    """

    request: DialRequest | None = None
    answers: Mapping[str, DialAnswer] = field(default_factory=dict)
    due: float = math.inf
    port: int = ENGINE_PORT
    watched: frozenset[str] = frozenset()
    offers: Mapping[str, int] = field(default_factory=dict)
    late: Mapping[str, float] = field(default_factory=dict)
    followed: bool = False
    written: Mapping[str, WrittenSetting] = field(default_factory=dict)
    denied: str = ""
    again: float = 0.0
    denied_at: float = -math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceMemory:
    """One service between two reconciles.

    last_valid: generation and spec of the last spec that could be followed.
    state: the newest state; durable once `status` holds it.
    sampling: what is read between full reconciles, None: nothing. due: when the next full one is, epoch seconds.
    window: the open window. closed: one that closed and was not decided upon yet. judged: the last that was.
    silent: pods that did not answer at the last reading.
    kserve_error: why the InferenceService could not be applied when tried last. conflict: others who change it.
    waits: whether its rollout waits for others. free_at: when the name of its InferenceService was seen to be free.
    status, status_at, version: the status as it was written last, when, and the version of the object that has it.
    unrecorded: Events whose status is not written yet; unsent: Events that are to be sent, from `send_at` on.
    failure: what the last reconcile failed with, as it is in the log. unreadable: what of the status could not be read.
    guest: what became of the writes of a guest. dial: what its pods were asked to draft, and do.
    evict_at: when the eviction of a pod is asked for again that was refused, epoch seconds; 0: none was.
    """

    last_valid: tuple[int, Mapping[str, Any]] | None = None
    state: State | None = None
    sampling: SamplingPlan | None = None
    due: float = 0.0
    window: Sampler | None = None
    closed: Judged | None = None
    judged: Judged | None = None
    silent: int = 0
    applied: Applied | None = None
    refused: RefusedManifest | None = None
    kserve_error: KServeError | None = None
    conflict: WriteConflict = field(default_factory=WriteConflict)
    waits: bool = False
    free_at: float = 0.0
    downloads: DownloadMemory = field(default_factory=DownloadMemory)
    budget: BudgetMemory = BudgetMemory()
    baseline_pods: BaselinePodsMemory = BaselinePodsMemory()
    facts: FactMemory = field(default_factory=FactMemory)
    evict_at: float = 0.0
    guest: GuestWrites = field(default_factory=GuestWrites)
    dial: DialMemory = field(default_factory=DialMemory)
    status: Mapping[str, Any] | None = None
    status_at: float = 0.0
    version: int = 0
    unrecorded: tuple[Event, ...] = ()
    unsent: tuple[Event, ...] = ()
    send_at: float = 0.0
    failure: str = ""
    unreadable: str = ""

    def to_send(self, now: float) -> tuple[Event, ...]:
        """The Events that are to be sent now. A server that asked for patience is not asked at each reading."""
        return self.unsent if now >= self.send_at else ()

    def lost(self, shown: Mapping[str, Any], now: float) -> bool:
        """Whether another client removed parts of the status that was written. shown: the status as the watch has
        it.
        """
        return now - self.status_at >= _SHOWN_WITHIN and bool((self.status or {}).keys() - shown.keys())


def with_readable_status(
    body: Mapping[str, Any], memory: ServiceMemory, now: float
) -> tuple[Mapping[str, Any], ServiceMemory]:
    """The service with what of its status can be read. What this process wrote itself is not checked again."""
    shown = body.get("status") or {}
    if shown == memory.status:
        return body, replace(memory, unreadable="")
    read = readable(shown, now)
    return {**body, "status": read.status}, replace(memory, unreadable=read.message)


def restore(memory: ServiceMemory, sis: Sis, now: float) -> ServiceMemory:
    """The memory with the state to continue from: ours, unless the status holds a later decision of another writer.

    There should be only one writer, because there is a Lease. If the Lease is switched off by mistake, two operators
    that each trusted their own memory would undo each other's decisions. The version separates an echo of our own
    writes, however late, from what others wrote after them. An older decision than ours is overwritten.
    """
    if memory.status in (None, sis.status):  # if they are equal, only one is kept
        memory = replace(memory, status=sis.status)
    if memory.state is None:
        facts = replace(memory.facts, kept=facts_of(sis.status))
        return replace(memory, state=kept_state(sis.status, now), facts=facts)
    shown = kept_state(sis.status, now) if 0 < memory.version < sis.version else None
    if shown is None:
        return memory
    if _decisions(shown) == _decisions(memory.state):
        return memory
    memory = replace(memory, status=sis.status)
    if _decisions(shown) < _decisions(memory.state):
        return memory
    facts = replace(memory.facts, kept=facts_of(sis.status))
    return replace(memory, state=shown, facts=facts, window=None, closed=None, judged=None)


def noted_downloads(memory: ServiceMemory, downloads: DownloadMemory, sis: Sis, now: float) -> ServiceMemory:
    """The memory after a read of the PVC and its Jobs, with the Events of what was taken over.

    The next reconcile is due at once if the operator still has to change the PVC: an object that stays without its
    service is written to the status first.
    """
    stays = sis.spec.deletion_policy is DeletionPolicy.ORPHAN and downloads.claim_uid != memory.downloads.claim_uid
    unsent = (*memory.unsent, *downloads.adopted)
    denied = downloads.denied is not None and downloads.denied != memory.downloads.denied
    kept = replace(downloads, adopted=())
    due = now if stays or downloads.adopted or denied else memory.due
    return replace(memory, downloads=kept, unsent=unsent, due=due)


def _decisions(state: State | None) -> tuple[int, int, int, int]:
    """The numbers of decisions, to order two states: the first number that differs decides. A retry sets the last one,
    the restarts, back to 0.

    A dial at nothing is one more, and the rollback or the retry after it another one. A rollback to the baseline
    follows one to another speculation.
    """
    if state is None:
        return 0, 0, 0, 0
    pending = state.rollback is not None and state.rollback.pending
    baseline = state.rollback is not None and state.rollback.good is None
    steps = state.lowering.steps if state.lowering else 0
    made = 2 * (state.rollbacks + pending + state.retries) + (state.dial is not None)
    return made, int(baseline), steps, state.restarts
