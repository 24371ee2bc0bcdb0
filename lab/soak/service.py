"""What the soak knows of one service: whether it is there, how good its draft is, and what it must have come to."""

from dataclasses import dataclass, field

from tests.wire.api import Object

from lab.scale.engines_standin import AnswerKind, kind_of
from lab.scale.fleet import name_of, sis_of

INTERVAL, WINDOW, FAILURE_LIMIT = 5.0, 10.0, 2
_SLACK = 3 * INTERVAL
"""Seconds that a decision may be late against what was done."""


@dataclass(kw_only=True)
class SoakService:
    """One service. bad: its draft is useless. held: the operator must not act on that. asks: when the user requested
    speculation: when it was made, or set to be tried again. spoiled: spans in which the draft was bad; the last one is
    open if it still is. decided: times of its rollbacks, from its status.
    """

    number: int
    there: bool = False
    bad: bool = False
    held: bool = False
    size: int = 64
    asks: list[float] = field(default_factory=list)
    spoiled: list[tuple[float, float]] = field(default_factory=list)
    decided: set[float] = field(default_factory=set)

    @property
    def name(self) -> str:
        """Its name."""
        return name_of(self.number)

    @property
    def body(self) -> Object:
        """What is applied."""
        made = sis_of(self.number, max_num_seqs=self.size)
        times = {"interval": f"{INTERVAL:.0f}s", "window": f"{WINDOW:.0f}s", "warmup": "1s"}
        made["spec"]["guard"] |= times | {"failureLimit": FAILURE_LIMIT, "minDraftTokens": 200}
        return made

    @property
    def measured(self) -> bool:
        """Whether its pods answer with counters."""
        return kind_of(self.number) is AnswerKind.WELL

    @property
    def wanted(self) -> str:
        """The phase that it must come to."""
        return "RolledBack" if self.bad and self.measured and not self.held else "Watching"

    @property
    def would(self) -> bool:
        """Whether it must come to report that it would act."""
        return self.bad and self.held and self.measured

    def spoil(self, now: float) -> None:
        """Its draft goes bad."""
        self.bad = True
        self.spoiled.append((now, float("inf")))

    def heal(self, now: float) -> None:
        """Its draft is good again."""
        self.bad = False
        self.spoiled[-1] = (self.spoiled[-1][0], now)

    def faults(self) -> list[str]:
        """What is wrong with its decisions: one without a reason, or one more than it was asked to speculate."""
        found = []
        for count, at in enumerate(sorted(self.decided), start=1):
            reach = WINDOW * (FAILURE_LIMIT + 1) + _SLACK
            if not any(begin <= at + 1 and at - reach <= end for begin, end in self.spoiled):
                found.append(f"{self.name}: rolled back at {at:.0f} with a good draft")
            if sum(ask <= at + 1 for ask in self.asks) < count:
                found.append(
                    f"{self.name}: rolled back again at {at:.0f} though nobody had asked it to speculate again"
                )
        if self.there and self.wanted == "RolledBack" and not self.decided:
            found.append(f"{self.name}: its rollback was never seen")
        return found
