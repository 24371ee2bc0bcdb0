"""What is known at one turn of the loop, and what the user asks for at it."""

from dataclasses import dataclass, field

from specdec_operator.guard.pace import Paces
from specdec_operator.guard.policy import Policy
from specdec_operator.guard.state import Good, State
from specdec_operator.guard.verdict import Verdict
from specdec_operator.serving.rollout import RolloutView


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the user asks for: hashes of the speculation and of the rest of what is served, and the annotations' values.

    speculating: whether there is a speculation. measure: whether the plain service is to be measured before it.
    """

    speculation: str
    service: str
    speculating: bool
    measure: bool = False
    retry: str | None = None
    rollback: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known at one turn.

    subject: the state's subject that all of it is about; since: the state's wanted_since that the rollout is timed by,
    None where it is not. speculating: whether that speculates.
    revision: revision of the pods that it asks for. rollout: how far they are. pods: names of all that there are.
    closed: when a window closed just now, else 0; verdict: on it, None for a plain service; paces: that it showed.
    good: what is served, to be remembered should it pass. fewer: the largest K' that would have passed.
    """

    subject: str
    policy: Policy
    speculating: bool
    revision: str
    rollout: RolloutView
    pods: frozenset[str] = frozenset()
    closed: float = 0.0
    verdict: Verdict | None = None
    paces: Paces = field(default_factory=dict)
    good: Good | None = None
    fewer: int | None = None
    since: float | None = None

    def is_about(self, state: State) -> bool:
        """Whether these facts are about what a state asks for: they say nothing about anything else."""
        return self.subject == state.subject and self.since in (None, state.wanted_since)
