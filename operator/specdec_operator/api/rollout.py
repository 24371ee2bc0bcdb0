"""How a change reaches the pods of a service, what becomes of old pods where there is no room, and how pods leave."""

from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

from specdec_operator.api.types import Duration, Part, rule, rules

LEAST_GRACE: Final = 15
MOST_GRACE: Final = 3600
"""Seconds."""


class Strategy(StrEnum):
    """How a change of the pods is rolled out."""

    AUTO = "Auto"
    SURGE = "Surge"
    REPLACE = "Replace"


class DisruptionBudget(StrEnum):
    """Whether the operator limits how many pods may be evicted at once, for example during the drain of a node."""

    AUTO = "Auto"
    NONE = "None"


class WhenNoRoom(StrEnum):
    """What becomes of old pods while new ones find no room."""

    WAIT = "Wait"
    REPLACE = "Replace"


class Rollout(Part):
    """How pods are replaced and stopped. A change of these fields does not replace running pods, except grace."""

    model_config = rules(
        rule(
            "!has(self.whenNoRoom) || self.whenNoRoom != 'Replace' || self.strategy == 'Auto'",
            "whenNoRoom Replace works only with strategy Auto: strategy Surge never stops old pods first, and "
            "strategy Replace needs no room",
            ".whenNoRoom",
        ),
        rule(
            f"duration(self.grace) >= duration('{LEAST_GRACE}s') && duration(self.grace) <= duration('{MOST_GRACE}s')",
            f"grace must be {LEAST_GRACE}s to {MOST_GRACE // 60}m: even an idle pod needs some seconds to stop, and "
            "the drain of a node waits for it",
            ".grace",
        ),
    )

    strategy: Strategy = Field(
        Strategy.AUTO,
        description="Surge: new pods start before old ones stop, which needs room for both. Replace: old pods stop "
        "first, one at a time if there are several. Auto: like Surge; without room, whenNoRoom decides. "
        "If the guard takes speculation out and there is no room, old pods always stop first.",
    )
    when_no_room: WhenNoRoom = Field(
        WhenNoRoom.WAIT,
        description="What to do if a change of yours finds no room for new pods (a quota, a full node, a scheduling "
        "gate). Wait: the old pods keep serving until there is room. Replace: old pods stop first, one at "
        "a time if there are several; a service with one pod does not answer until the new one is ready.",
    )
    no_room_after: Duration = Field(
        "1m", validate_default=True, description="How long the lack of room must last before old pods are stopped."
    )
    max_surge: Annotated[str, Field(pattern="^([1-9][0-9]?|100)%$")] = Field(
        "25%",
        description="Number of additional pods during a rollout, in percent of replicas, at least one pod.",
    )
    deadline: Duration = Field(
        "30m",
        validate_default=True,
        description="Maximum time without another ready pod before a rollout counts as failed. It starts again when "
        "the first of the new pods starts its engine. If all of them are still downloading models or pulling images at "
        "the deadline, the service is Stalled, and speculation stays.",
    )
    grace: Duration = Field(
        "60s",
        validate_default=True,
        description="Maximum time from the decision to stop a pod until it is killed. The pod finishes its requests "
        "until ten seconds before the end. Longer answers are cut. A changed value replaces the pods.",
    )
    disruption_budget: DisruptionBudget = Field(
        DisruptionBudget.AUTO,
        description="Auto: with several replicas, PodDisruptionBudget NAME-specdec allows one eviction at a time, for "
        "example during the drain of a node. None: no PodDisruptionBudget. Use None if you create your "
        "own, because Kubernetes does not evict a pod that two of them select.",
    )

    @property
    def patience(self) -> float | None:
        """Seconds without room after which a change gives up old pods; None: it waits."""
        replaces = self.strategy is Strategy.AUTO and self.when_no_room is WhenNoRoom.REPLACE
        return self.no_room_after if replaces else None
