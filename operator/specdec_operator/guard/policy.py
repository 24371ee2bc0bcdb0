"""What the user asks of the guard, apart from the thresholds of a window."""

from dataclasses import dataclass

from specdec_operator.api.guard import Guard, GuardMode, Response, RollBackTo


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The guard's part of the spec, defaults filled in. Times are in seconds.

    measure_first: whether the plain service is measured before speculation; baseline_limit: for how long at most.
    reduce_tokens: whether fewer tokens are tried before a rollback. to_last_good: whether a rollback may go to another
    speculation that was good. retry_after, retry_limit: None and 0 where nothing is tried again by itself.
    held: whether the user has asked to leave everything as it is. auto: whether surging may be given up for want of
    room.
    """

    mode: GuardMode
    warmup: float
    failure_limit: int
    measure_first: bool = False
    baseline_limit: float = 0.0
    reduce_tokens: bool = False
    to_last_good: bool = True
    retry_after: float | None = None
    retry_limit: int = 0
    held: bool = False
    auto: bool = False

    @property
    def measures(self) -> bool:
        """Whether the plain service is measured first. Observe changes nothing that is served, so it does not."""
        return self.measure_first and self.mode is GuardMode.ENFORCE

    @property
    def acts(self) -> bool:
        """Whether the guard may change what is served."""
        return self.mode is GuardMode.ENFORCE and not self.held


_BASELINE_WINDOWS = 10


def policy_of(guard: Guard, *, held: bool, auto: bool) -> Policy:
    """The policy that a guard spells out. A baseline that nobody's traffic feeds is waited for ten windows long."""
    return Policy(
        mode=guard.mode,
        warmup=guard.warmup,
        failure_limit=guard.failure_limit,
        measure_first=guard.measures_first,
        baseline_limit=_BASELINE_WINDOWS * guard.window,
        reduce_tokens=Response.REDUCE_TOKENS in (guard.response or ()),
        to_last_good=guard.roll_back_to is not RollBackTo.BASELINE,
        retry_after=guard.retry.after if guard.retry else None,
        retry_limit=guard.retry.limit if guard.retry else 0,
        held=held,
        auto=auto,
    )
