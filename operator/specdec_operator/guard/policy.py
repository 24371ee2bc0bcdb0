"""The user's settings of the guard, defaults filled in: the policy, the thresholds of a window, and the default
thresholds of each method. What the engine requires of a method is in the rules.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from specdec_engine.methods import MOST_TOKENS
from specdec_operator.api.control import Collateral, CollateralResponse, ControlMode
from specdec_operator.api.guard import Guard, GuardMode, Response, Retry, RollBackTo
from specdec_operator.api.speculation import Method
from specdec_operator.guard.baseline import Baseline
from specdec_operator.guard.baseline_pods import Measure, Pair
from specdec_operator.guard.off_cost import BaselineSteps, OffCost

_COST: Final = 0.02
"""Time of one drafted token / time of one step of the target. The value is small, so that a default threshold fails no
draft that may pay: a head costs about as much, a draft model of a tenth of the target more.
"""


@dataclass(frozen=True, slots=True)
class MethodFacts:
    """Facts about one method.

    acceptance_rate_min: the guard's threshold where the user names none, in accepted / drafted tokens, of up to
        `tokens` tokens a step; None: what it drafts is not meant to be accepted.
    always_drafts: whether every decoding step drafts, so that no drafts under traffic means a fault.
    trained_for: whether K is what the draft was trained for, so that it drafts no more.
    """

    acceptance_rate_min: float | None
    always_drafts: bool = True
    tokens: int = 4
    trained_for: bool = False

    def least_rate(self, tokens: int) -> float | None:
        """The threshold with K `tokens`: with more of them a step that is worth as much accepts a smaller share.

        Worth is length / (1 + cost K), with length = 1 + rate K (Leviathan et al., arXiv 2211.17192, section 3.3).
        """
        if self.acceptance_rate_min is None or tokens <= self.tokens:
            return self.acceptance_rate_min
        worth = (1 + self.acceptance_rate_min * self.tokens) / (1 + _COST * self.tokens)
        return min(self.acceptance_rate_min, (worth * (1 + _COST * tokens) - 1) / tokens)


METHODS: Final[Mapping[Method, MethodFacts]] = MappingProxyType(
    {
        # Draft pairs live at 0.6-0.8, and alerts in the field are set at 0.50; 0.40 leaves room for hard traffic.
        Method.DRAFT_MODEL: MethodFacts(0.40),
        # Trained heads live at 0.75-0.92 at small K; what they accept falls with every further position.
        Method.EAGLE: MethodFacts(0.35),
        Method.EAGLE3: MethodFacts(0.40),
        Method.MTP: MethodFacts(0.50),
        Method.MEDUSA: MethodFacts(0.30, trained_for=True),
        # Whole blocks of 7 to 15 tokens at once: most of a block is refused even when it pays.
        Method.DFLASH: MethodFacts(0.20, tokens=15, trained_for=True),
        Method.DSPARK: MethodFacts(0.20, tokens=15, trained_for=True),
        # Look-up lives at 0.30-0.60 and costs little when it misses; text without repetition drafts nothing at all.
        Method.NGRAM: MethodFacts(0.20, always_drafts=False),
        Method.NGRAM_GPU: MethodFacts(0.20, always_drafts=False),
        Method.SUFFIX: MethodFacts(0.20, always_drafts=False),
        # A class of the user's own may draft when it likes; its hits are judged as a look-up's are.
        Method.CUSTOM_CLASS: MethodFacts(0.20, always_drafts=False),
        Method.EXTRACT_HIDDEN_STATES: MethodFacts(None, always_drafts=False, trained_for=True),
        Method.MLP_SPECULATOR: MethodFacts(None),  # never deployed: the API refuses it
    }
)


DOWNTIME_BUDGET: Final = 1800.0
"""Seconds of a day, unless the user sets another: three loads of ten minutes. With a crash every 40 minutes that is
reached after two hours, with one every two hours and a load of 12 minutes after six."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The guard's part of the spec, defaults filled in. Times are in seconds.

    measure_first: whether the baseline is measured before speculation; baseline_limit: for how long at most.
    reduce_tokens: whether fewer tokens are tried before a rollback. to_last_good: whether a rollback may go to another
    speculation that was good. retry_after, retry_limit: None and 0 without automatic retries.
    held: whether the user's hold keeps the guard from changing anything. patience: how long new pods may find no room
    before old ones stop for them; None: without limit. regret_budget: point-hours of lost acceptance that end
    speculation. downtime_budget: seconds of a day for which a pod's failures may keep it from serving.
    control: when baseline pods run; plain_pods: their number with mode Always; replicas: requested speculating pods;
    scaled: whether an autoscaler sets their number. Then no baseline pod replaces a speculating pod.
    limited: the measures with a limit in guard.collateral. settle: seconds with the dial at nothing before a rollback.
    adapts: whether the guard sets the tokens by load.
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
    patience: float | None = None
    regret_budget: float = 2.0
    downtime_budget: float = DOWNTIME_BUDGET
    control: ControlMode = ControlMode.NEVER
    baseline_replicas: int = 1
    replicas: int = 1
    scaled: bool = False
    limited: frozenset[Measure] = frozenset()
    settle: float = 600.0
    adapts: bool = False

    @property
    def single(self) -> bool:
        """Whether it is a service of one pod. An autoscaler's may be another number at any time."""
        return self.replicas == 1 and not self.scaled

    @property
    def measures(self) -> bool:
        """Whether the baseline is measured first. In mode Observe it is not, because Observe does not change what is
        served.
        """
        return self.measure_first and self.mode is GuardMode.ENFORCE

    @property
    def acts(self) -> bool:
        """Whether the guard may change what is served."""
        return self.mode is GuardMode.ENFORCE and not self.held


_BASELINE_WINDOWS = 10


def policy_of(
    guard: Guard, *, held: bool, patience: float | None = None, replicas: int = 1, scaled: bool = False
) -> Policy:
    """The policy that the guard's part of a spec defines. The measurement of a baseline without traffic ends after ten
    windows.
    """
    retry = guard.retry or Retry()
    return Policy(
        mode=guard.mode,
        warmup=guard.warmup,
        failure_limit=guard.failure_limit,
        measure_first=guard.measures_first,
        baseline_limit=_BASELINE_WINDOWS * guard.window,
        reduce_tokens=Response.REDUCE_TOKENS in (guard.response or ()),
        to_last_good=guard.roll_back_to is not RollBackTo.BASELINE,
        retry_after=retry.after,
        retry_limit=retry.limit,
        held=held,
        patience=patience,
        regret_budget=guard.regret_budget,
        downtime_budget=DOWNTIME_BUDGET if guard.downtime_budget is None else guard.downtime_budget,
        control=guard.control_mode,
        baseline_replicas=guard.control.replicas if guard.control else 1,
        replicas=replicas,
        scaled=scaled,
        limited=frozenset(_collateral(guard.collateral)),
        settle=guard.settle,
        adapts=guard.adapts,
    )


_LONGEST_GAP: Final = 3.0
"""Intervals without a reading after which a window does not count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """What a window is compared with.

    acceptance_rate: accepted / drafted tokens, at least. acceptance_length: 1 + accepted tokens / drafts, at least.
    speedup: baseline time per output token / that with speculation at the same load, at least.
    time_per_output_token: at most, in seconds. baseline: the baseline by load, as far as it is known.
    min_draft_tokens: fewer drafted tokens prove nothing. always_drafts: whether the method drafts at every step.
    longest_gap: longest time without a reading that still counts as a full window, in seconds.
    draft_length: K, tokens drafted per step. of_baseline: whether there is no draft to be judged, but only speed.
    direct: whether the operator reads the pods itself, so that a series that is missing does not exist in the pod.
    pairs: the last windows of both arms, oldest first. collateral: the limits of guard.collateral, by measure;
    collateral_convicts: whether a measure beyond its limit ends speculation. dialled: tokens that the dial asks for;
    None: as the flags. by_load: whether it asks for them by load. least_gain: what the upper bound of the gain by dips
    may not be below. method: whose default minimum of the rate holds; None: the user set it for each K. yielded: that
    default while it yields to a measured speedup; acceptance_rate is None then. off_cost: what engines that leave their
    draft out reach of the baseline; None: not known of these pods, so that the gain by dips is an upper bound.
    baseline_steps: those of the service before it speculated, None if not known. pauses: whether rows draft nothing at
    some load. adapts: whether a loss that dips show is answered by such a row, and not by a rollback.
    """

    acceptance_rate: float | None
    acceptance_length: float | None
    min_draft_tokens: int
    always_drafts: bool
    longest_gap: float
    draft_length: int
    speedup: float | None = None
    time_per_output_token: float | None = None
    baseline: Baseline = ()
    of_baseline: bool = False
    direct: bool = True
    pairs: tuple[Pair, ...] = ()
    collateral: Mapping[Measure, float] = field(default_factory=dict)
    collateral_convicts: bool = False
    dialled: int | None = None
    by_load: bool = False
    pauses: bool = False
    adapts: bool = False
    least_gain: float | None = None
    method: MethodFacts | None = None
    yielded: float | None = None
    off_cost: OffCost | None = None
    baseline_steps: BaselineSteps | None = None

    @property
    def without_default(self) -> "Thresholds":
        """Without the method's default minimum of the rate. What the user set stays."""
        return replace(self, acceptance_rate=None, yielded=self.acceptance_rate) if self.method else self

    def least_rate(self, tokens: int) -> float | None:
        """The minimum of the rate once `tokens` are drafted per step."""
        return self.method.least_rate(tokens) if self.method else self.acceptance_rate

    @property
    def silent(self) -> bool:
        """Whether a window has no verdict: without speculation, a window is judged only if a time per output token is
        set.
        """
        return self.of_baseline and self.time_per_output_token is None


def thresholds(
    guard: Guard,
    method: MethodFacts | None,
    *,
    tokens: int,
    baseline: Baseline = (),
    pauses: bool = False,
    pairs: tuple[Pair, ...] = (),
) -> Thresholds:
    """The thresholds that the user sets, and those of the method for the others.

    method: None without speculation; then only the speed is judged. tokens: K; 0 if the draft decides it. The engine's
    own bound then replaces K, so that chance is not taken for a fault.
    pauses: whether a large batch is served without a draft.
    """
    usual = method.least_rate(tokens) if method else None
    rate = guard.acceptance_rate.min if guard.acceptance_rate else usual
    return Thresholds(
        acceptance_rate=rate if method else None,
        acceptance_length=guard.acceptance_length.min if guard.acceptance_length and method else None,
        speedup=guard.speedup.min if guard.speedup and method else None,
        least_gain=(guard.speedup.min if guard.speedup else 1.0) if method else None,
        time_per_output_token=guard.time_per_output_token.max if guard.time_per_output_token else None,
        min_draft_tokens=guard.min_draft_tokens,
        always_drafts=method is not None and method.always_drafts and not pauses,
        pauses=pauses,
        longest_gap=_LONGEST_GAP * guard.interval,
        draft_length=tokens or MOST_TOKENS,
        baseline=baseline,
        of_baseline=method is None,
        direct=guard.reads_pods,
        pairs=pairs if method else (),
        collateral=_collateral(guard.collateral),
        collateral_convicts=guard.collateral is not None and guard.collateral.response is CollateralResponse.ROLL_BACK,
        method=None if guard.acceptance_rate else method,
    )


def _collateral(asked: Collateral | None) -> dict[Measure, float]:
    if asked is None:
        return {}
    ratios = {
        Measure.FIRST_TOKEN: asked.time_to_first_token,
        Measure.QUEUE: asked.queue_time,
        Measure.PREEMPTIONS: asked.preemptions,
    }
    limits = {measure: limit.max_ratio for measure, limit in ratios.items() if limit is not None}
    if asked.prefix_hit_rate is not None:
        limits[Measure.HIT_RATE] = asked.prefix_hit_rate.max_drop
    if asked.throughput is not None:
        limits[Measure.THROUGHPUT] = asked.throughput.min_ratio
    return limits
