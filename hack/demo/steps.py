"""The steps of the demo and their times. Pure: the clock's value is handed in."""

from dataclasses import dataclass, field


@dataclass(slots=True, kw_only=True)
class Step:
    """One step; `note` is the last thing that it said."""

    name: str
    began: float
    ended: float | None = None
    failed: bool = False
    note: str = ""

    def seconds(self, now: float) -> float:
        """How long it took, or has taken so far."""
        return (now if self.ended is None else self.ended) - self.began


@dataclass(slots=True, kw_only=True)
class Steps:
    """All steps in the order of their beginnings; some run at the same time."""

    began: float
    steps: list[Step] = field(default_factory=list)

    def begin(self, name: str, now: float) -> Step:
        """Begin a step."""
        step = Step(name=name, began=now)
        self.steps.append(step)
        return step

    def seconds(self, now: float) -> dict[str, float]:
        """Seconds by step, and of everything together: steps that overlap make the sum larger than that."""
        each = {step.name: round(step.seconds(now), 1) for step in self.steps}
        return each | {"together": round(now - self.began, 1)}
