"""What is told while a service waits for its downloads: its old pods go on, its new ones are not asked for yet."""

from collections.abc import Sequence

from specdec_operator.downloads.view import WELL, Stand
from specdec_operator.downloads.waiting import Fetch
from specdec_operator.serving.arrival import Arrival
from specdec_operator.serving.pods import PodView
from specdec_operator.serving.rollout import Progress, RolloutView


def held_rollout(fetches: Sequence[Fetch], pods: Sequence[PodView]) -> RolloutView:
    """The rollout while downloads are not done. No deadline: weights take the time that they take."""
    lost = [each for each in fetches if each.hopeless]
    waiting = next(each for each in (*lost, *fetches) if not each.done)
    # A target that cannot come speaks neither for nor against speculation.
    target_lost = any(each.download.name == "target" for each in lost)
    progress = Progress.BLOCKED if target_lost else Progress.FAILED if lost else Progress.PROGRESSING
    serving = sum(pod.ready and not pod.deleting for pod in pods)
    reason = waiting.view.reason if lost else "Downloading"
    return RolloutView(progress=progress, reason=reason, message=waiting.words, serving=serving)


def held_arrival(fetches: Sequence[Fetch]) -> Arrival:
    """The condition ArtifactsStaged while downloads are not done: the first that is in trouble, else the first."""
    waiting = [each for each in fetches if not each.done]
    troubled = [each for each in waiting if each.view.stand is Stand.FAILED or each.view.reason not in WELL]
    first = (troubled or waiting)[0]
    reason = first.view.reason if troubled else "Downloading"
    return Arrival(status="False", reason=reason, message="; ".join(each.words for each in waiting))
