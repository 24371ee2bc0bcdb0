"""The rollback as a sequence of moments, picked out of everything that was seen. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from hack.demo.world import World

_DECIDED = ("Responding", "RolledBack", "Stalled")


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """When each part of the rollback was seen, in seconds on the demo's clock.

    onset: the first request of the other traffic was sent. decided: the sis left Watching for the decision.
    patched: the InferenceService no longer asked for speculation. serving: a pod without speculation became ready.
    rolled_back: the operator found the rollout complete.
    """

    onset: float
    decided: float
    patched: float
    serving: float
    rolled_back: float


def decided_at(world: World, onset: float) -> float | None:
    """When the operator decided, after `onset`; None while it has not."""
    return _first(turn.at for turn in world.turns if turn.at >= onset and turn.phase in _DECIDED)


def pick(world: World, onset: float) -> Moments | None:
    """The moments of the rollback that followed `onset`; None while one of them is still to come.

    A plain revision may have served before, in the same story, so only pods that came up after the onset count.
    """
    decided = decided_at(world, onset)
    plain = next((each for each in world.asked if each.at >= onset and not each.speculating), None)
    rolled_back = _first(turn.at for turn in world.turns if turn.at >= onset and turn.phase == "RolledBack")
    if decided is None or plain is None or rolled_back is None:
        return None
    serving = _first(each.at for each in world.arrivals if each.at >= onset and each.revision == plain.revision)
    if serving is None:
        return None
    return Moments(onset=onset, decided=decided, patched=plain.at, serving=serving, rolled_back=rolled_back)


def _first(times: Iterable[float]) -> float | None:
    return min(times, default=None)
