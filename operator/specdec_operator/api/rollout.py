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
    """Who says how many pods may be evicted at once, as a node's drain does it."""

    AUTO = "Auto"
    NONE = "None"


class WhenNoRoom(StrEnum):
    """What becomes of old pods while new ones find no room."""

    WAIT = "Wait"
    REPLACE = "Replace"


class Rollout(Part):
    """How a change reaches the pods, and how pods leave. All but grace leaves pods that run as they are."""

    model_config = rules(
        rule(
            "!has(self.whenNoRoom) || self.whenNoRoom != 'Replace' || self.strategy == 'Auto'",
            "strategy Surge gives up no pod for a change of yours, and Replace needs no room: "
            "whenNoRoom Replace is for strategy Auto",
            ".whenNoRoom",
        ),
        rule(
            f"duration(self.grace) >= duration('{LEAST_GRACE}s') && duration(self.grace) <= duration('{MOST_GRACE}s')",
            f"grace is from {LEAST_GRACE}s to {MOST_GRACE // 60}m: a pod needs seconds to leave even when it is idle, "
            "and a node's drain waits for it",
            ".grace",
        ),
    )

    strategy: Strategy = Field(
        Strategy.AUTO,
        description="Surge starts new pods beside the old ones and needs room for both; Replace stops the old ones "
        "first, one at a time where there are several; Auto surges, and where there is no room whenNoRoom decides. "
        "When the guard takes speculation out and there is no room, old pods go first, whatever is written here.",
    )
    when_no_room: WhenNoRoom = Field(
        WhenNoRoom.WAIT,
        description="Where a change of yours finds no room (a quota, a full node, a scheduling gate) beside the old "
        "pods. Wait: they serve on until there is room. Replace: they are given up for the new ones, one at a time "
        "where there are several; a service of one pod does not answer until the new one is up.",
    )
    no_room_after: Duration = Field(
        "1m", validate_default=True, description="How long there must be no room before old pods are given up."
    )
    max_surge: Annotated[str, Field(pattern="^([1-9][0-9]?|100)%$")] = Field(
        "25%",
        description="Pods that are started beside the old ones at once, in percent of replicas, at least one pod.",
    )
    deadline: Duration = Field(
        "30m",
        validate_default=True,
        description="Longest time without a further pod that is ready, before a rollout counts as failed.",
    )
    grace: Duration = Field(
        "60s",
        validate_default=True,
        description="Longest time from the decision to stop a pod to its end by force; until ten seconds before that "
        "it goes on with what it was asked. Longer answers are cut. Another value renews the pods.",
    )
    disruption_budget: DisruptionBudget = Field(
        DisruptionBudget.AUTO,
        description="Auto: with several replicas a PodDisruptionBudget NAME-specdec lets one pod at a time be evicted, "
        "as for the drain of a node. None: there is none; for those who make one of their own, for Kubernetes evicts "
        "no pod that two of them name.",
    )

    @property
    def patience(self) -> float | None:
        """Seconds without room after which a change gives up old pods; None: it waits."""
        replaces = self.strategy is Strategy.AUTO and self.when_no_room is WhenNoRoom.REPLACE
        return self.no_room_after if replaces else None
