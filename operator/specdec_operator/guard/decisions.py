"""What the guard decides and remembers, a part of its durable state each."""

from dataclasses import dataclass, field
from enum import StrEnum

from specdec_operator.api.kept import Time, means
from specdec_operator.guard.rows import Rows
from specdec_operator.guard.trial import Trial


class Target(StrEnum):
    """What a rollback goes back to: another speculation of this service, that once passed a full window, or none."""

    LAST_GOOD = "LastGood"
    BASELINE = "Baseline"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownGood:
    """A speculation that passed a full window."""

    block: str = field(metadata=means("Its spec.speculation, as JSON."))
    digest: str = field(metadata=means("Hash of this speculation."))
    of: str = field(metadata=means("Hash of the speculation that was requested at that time."))
    tokens: int = field(metadata=means("Tokens per step."))
    rate: float = field(metadata=means("Accepted / drafted tokens."))
    at: Time = field(metadata=means("Time at which it first passed."))
    lowered: int = field(  # the first release knows no such field, and would take it out again
        default=0,
        metadata=means("Number of steps of 0.05 of the device by which its memory was lowered.", empty=False),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Decision:
    """What each decision of the guard against a speculation has."""

    reason: str = field(metadata=means("Reason, in one word."))
    message: str = field(metadata=means("Reason, with numbers."))
    at: Time = field(metadata=means("Time of the decision."))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollback(_Decision):
    """A decision against the requested speculation. A trial decides a provisional one: a service of one pod runs as
    baseline for a few windows, to measure that speed.
    """

    to: Target = field(
        default=Target.BASELINE,
        init=False,
        metadata=means("LastGood: the last other speculation that passed a window; Baseline: no speculation."),
    )
    good: KnownGood | None = field(default=None, metadata=means("The speculation in use instead."))
    trial: Trial | None = field(
        default=None, metadata=means("Present while the rollback is provisional and the baseline is measured.")
    )
    pending: bool = field(  # absent in a status of an earlier release, which counted each rollback when it was decided
        default=False,
        metadata=means(
            "Whether its pods do not serve yet. Until they do, it does not count in rollbacks.", empty=False
        ),
    )

    def __post_init__(self) -> None:
        """Where it goes back to follows from the rest."""
        object.__setattr__(self, "to", Target.BASELINE if self.good is None else Target.LAST_GOOD)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduction(_Decision):
    """A decision for fewer tokens per step than asked for."""

    tokens: int = field(metadata=means("Tokens per step in use."))
    dialled: bool = field(
        default=False,
        metadata=means("Whether the dial of the running pods sets them, and not the flags.", empty=False),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Adaptation(_Decision):
    """A decision about the tokens per step by load, which the dial of the running pods sets."""

    rows: Rows = field(
        default=(),
        metadata=means(
            "Tokens per step by load; absent: the requested number at each load.", name="tokensByBatchSize", empty=False
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What was drafted in a window in which the dial was at nothing, apart from its probes. One that two windows share
    is kept as one.
    """

    number: int = field(default=0, metadata=means("Number of the last probe that had begun by then, from 1 on."))
    drafted: float = field(default=0.0, metadata=means("Drafted tokens."))
    accepted: float = field(default=0.0, metadata=means("Accepted tokens of these."))
    drafts: float = field(default=0.0, metadata=means("Drafts."))

    def plus(self, other: "Probe") -> "Probe":
        """Both together, as the newer of the two."""
        return Probe(
            number=max(self.number, other.number),
            drafted=self.drafted + other.drafted,
            accepted=self.accepted + other.accepted,
            drafts=self.drafts + other.drafts,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DialDecision(_Decision):
    """A decision to draft nothing in the running pods."""

    probes: tuple[Probe, ...] = field(
        default=(),
        metadata=means("Drafts of the last windows, oldest first: as many as a judgement needs.", empty=False),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Lowering:
    """A decision for less memory than planned."""

    reason: str = field(metadata=means("Reason, in one word."))
    message: str = field(metadata=means("How the engine ran out of memory, and its memory settings at that start."))
    at: Time = field(metadata=means("Time of the last decision."))
    steps: int = field(
        metadata=means("Number of steps of 0.05 of the device by which the memory is lowered; at most two.")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineFailure(_Decision):
    """A decision that the draft is not the cause: after a rollback for pods that fail, baseline pods failed too."""

    times: int = field(
        default=1, metadata=means("How many such decisions in a row. Each holds twice as long as the one before.")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PodFailure:
    """A pod that failed after its rollout."""

    pod: str = field(metadata=means("Its name."))
    reason: str = field(metadata=means("OutOfMemory, EngineCrashed, NotReady or Stalled."))
    message: str = field(metadata=means("The failure, with the engine's last log lines."))
    ends: int = field(metadata=means("Number of times its engine had ended at that time."))
    at: Time = field(metadata=means("Time of the observation."))
    answered: bool = field(default=False, metadata=means("Whether the guard has acted on it."))


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRunAction:
    """What would have been done, were the guard free to act."""

    action: str = field(metadata=means("LowerMemory, RestartPod, Dial, ReduceTokens or RollBack."))
    reason: str = field(metadata=means("Reason, in one word."))
    message: str = field(metadata=means("Reason, with numbers."))
    at: Time = field(metadata=means("When."))
