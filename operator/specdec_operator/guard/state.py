"""The guard's durable state, and what is observed of what it asks for.

The state lives in status.guard and survives restarts, re-applies and `kubectl replace`.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from specdec_operator.guard.arms import Measure, Pair
from specdec_operator.guard.baseline import Baseline
from specdec_operator.guard.findings import Finding
from specdec_operator.guard.lowering import Lowering
from specdec_operator.guard.pod_failures import PodFailure
from specdec_operator.guard.policy import Policy
from specdec_operator.guard.statistics import TokenTimes
from specdec_operator.guard.switch_back import Traffic, Trial
from specdec_operator.guard.verdict import Verdict
from specdec_operator.observe.arm import ArmView
from specdec_operator.observe.rollout import RolloutView


class Phase(StrEnum):
    """What the guard is doing."""

    MEASURING_BASELINE = "MeasuringBaseline"
    """The service runs as baseline, so that its speed is known before speculation begins."""
    ROLLING_OUT = "RollingOut"
    """The pods that the spec requests are starting."""
    WARMING_UP = "WarmingUp"
    """The pods are ready. Their first traffic is not judged."""
    WATCHING = "Watching"
    """Windows of evidence are judged, one after the other."""
    RESPONDING = "Responding"
    """Safer pods are starting: with less memory, fewer tokens, the last good speculation, or none."""
    ROLLED_BACK = "RolledBack"
    """Speculation is out. The baseline serves until a retry, a change of the spec, or a request for a retry."""
    STALLED = "Stalled"
    """The requested pods do not come up, and no step of the guard can help: the user must act."""
    SERVING = "Serving"
    """Nothing is watched: the spec requests no speculation, or the guard is off."""


class Target(StrEnum):
    """What a rollback goes back to: another speculation of this service, that once passed a full window, or none."""

    LAST_GOOD = "LastGood"
    BASELINE = "Baseline"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollback:
    """A decision against the speculation that is asked for: one word, one sentence with numbers, when (epoch seconds).

    good: the speculation that is served instead; None: the service runs plain. trial: what it was decided by, while it
    is provisional: a service of one pod serves plain for a few windows to learn how fast that is.
    """

    reason: str
    message: str
    at: float
    good: "KnownGood | None" = None
    trial: Trial | None = None

    @property
    def to(self) -> Target:
        """What it goes back to."""
        return Target.BASELINE if self.good is None else Target.LAST_GOOD


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduction:
    """A decision for fewer tokens per step than asked for: K', and as in a rollback why and when."""

    reason: str
    message: str
    at: float
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRunAction:
    """What would have been done, were the guard free to act: an action of the ladder, why and when."""

    action: str
    reason: str
    message: str
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownGood:
    """A speculation that passed a full window: its block of the spec as JSON, a hash of it, and since when.

    of: hash of what was asked for then. tokens: K then. rate: accepted / drafted tokens. lowered: steps of less memory.
    """

    block: str
    digest: str
    of: str
    tokens: int
    rate: float
    at: float
    lowered: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """Plain pods that are asked for beside the speculating ones: how many, why in a word and a sentence, since when.

    replaces: whether they take the place of as many speculating ones, for want of room. up: since when they serve,
    epoch seconds; 0: not yet.
    """

    replicas: int
    reason: str
    message: str
    at: float
    replaces: bool = False
    up: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Everything that the guard must not forget.

    since: when the phase began, epoch seconds. speculation: hash of the speculation that the decisions are about.
    service: hash of what is served apart from it; what was learnt of another service is dropped. memory: hash of how
    memory is to be planned. revision: of the last finished rollout. wanted: the one that is asked for now, and since
    when: a rollout's deadline counts from there, and anew from each further pod of it that is ready: `up` is how many
    were, at most. replacing: one for which surging was given up for want of room.
    regret: acceptance that was lost lately, in points below its minimum x hours.
    failures: windows in a row that failed severely; blamed: the pods that failed in all of them, empty for all pods;
    judged: when the last window that was counted closed. measuring: whether the plain service is to be measured first;
    attempted: whether that was begun for this service.
    rollback: present while another speculation is served than asked for, or none. reduced: present while fewer tokens
    are. lowering: less memory for what is asked for, once it ran out of it. dry_run: what the guard would have done,
    where it may not. rollbacks: how many there were.
    pod_failures: of the pods that are watched, of the last hour, and the newest of each.
    retries: tries after rollbacks. set_aside: the decision that the present try sets aside, until its pods are up.
    restarting: pods that are to be restarted; restarts: how many were. last_good: the last speculations that passed,
    newest first. baseline: the plain service's speed. handled_retry, handled_rollback: values of the annotations.
    control: plain pods beside; None: none are asked for. pairs: the last windows of both arms, oldest first.
    unmeasured: windows in a row with traffic whose speed could not be compared. doubts: how often the speed was in
    doubt and speculation stayed; doubted: when that ended last, epoch seconds; armless: nothing spoke for it then.
    collateral: what speculation costs more of than is allowed, and was told.
    """

    phase: Phase
    since: float
    speculation: str
    service: str = ""
    memory: str = ""
    revision: str | None = None
    wanted: str | None = None
    wanted_since: float = 0.0
    up: int = 0
    replacing: str | None = None
    regret: float = 0.0
    failures: int = 0
    blamed: tuple[str, ...] = ()
    judged: float = 0.0
    measuring: bool = False
    attempted: bool = False
    rollback: Rollback | None = None
    reduced: Reduction | None = None
    lowering: Lowering | None = None
    dry_run: DryRunAction | None = None
    rollbacks: int = 0
    retries: int = 0
    set_aside: Rollback | Reduction | None = None
    restarting: tuple[str, ...] = ()
    restarts: int = 0
    pod_failures: tuple[PodFailure, ...] = ()
    last_good: tuple[KnownGood, ...] = ()
    baseline: Baseline = ()
    handled_retry: str | None = None
    handled_rollback: str | None = None
    control: Control | None = None
    pairs: tuple[Pair, ...] = ()
    unmeasured: int = 0
    doubts: int = 0
    doubted: float = 0.0
    armless: bool = False
    collateral: tuple[Measure, ...] = ()

    @property
    def plain(self) -> bool:
        """Whether this state asks for no speculation, whatever the spec asks for."""
        return self.measuring or (self.rollback is not None and self.rollback.good is None)

    @property
    def lowered(self) -> int:
        """Steps by which the memory of what is served is lowered; the plain service's never is."""
        if self.rollback is not None:
            return self.rollback.good.lowered if self.rollback.good else 0
        return self.lowering.steps if self.lowering and not self.measuring else 0

    @property
    def subject(self) -> str:
        """What this state asks to be served, in a word: what is known about something else says nothing about it."""
        if self.plain:
            return "plain"
        if self.rollback is not None and self.rollback.good is not None:
            return f"good:{self.rollback.good.digest}"
        tokens, memory = f":{self.reduced.tokens}" if self.reduced else "", f"-{self.lowered}" if self.lowered else ""
        return f"{self.speculation}{tokens}{memory}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What is known at one reconcile.

    subject: the state's subject that all of it is about; since: the state's wanted_since that the rollout is timed by,
    None where it is not. speculating: whether that speculates.
    revision: revision of the pods that it asks for. rollout: how far they are. pods: names of all that there are.
    pod_failures: what speaks against those of this revision now.
    closed: when a window closed just now, else 0; verdict: on it, None for a plain service; token_times: of it.
    lost: what it adds to the regret, None where that cannot be told. in_row: failing windows that its evidence is of.
    pair, findings: what plain pods beside say; recent: what the last windows were of, oldest first.
    least_speedup: that is asked for. arm: how far the plain pods beside are.
    good: what is served, to be remembered should it pass. fewer: the largest K' that would have passed.
    less: what one step less of memory is to the engine, as it is written; empty where nothing can be lowered.
    """

    subject: str
    policy: Policy
    speculating: bool
    revision: str
    rollout: RolloutView
    pods: frozenset[str] = frozenset()
    pod_failures: tuple[PodFailure, ...] = ()
    closed: float = 0.0
    verdict: Verdict | None = None
    token_times: TokenTimes = field(default_factory=dict)
    lost: float | None = None
    in_row: int = 0
    good: KnownGood | None = None
    fewer: int | None = None
    less: str = ""
    since: float | None = None
    pair: Pair | None = None
    findings: tuple[Finding, ...] = ()
    recent: tuple[Traffic, ...] = ()
    least_speedup: float = 1.0
    arm: ArmView = field(default_factory=ArmView)

    def is_about(self, state: State) -> bool:
        """Whether this is about what a state asks for: it says nothing about anything else."""
        return self.subject == state.subject and self.since in (None, state.wanted_since)
