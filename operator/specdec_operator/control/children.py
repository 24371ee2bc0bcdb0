"""Keeps the InferenceService as it is rendered, with no write while it is; has pods made anew."""

import hashlib
import json
from typing import Final

from specdec_operator.cluster import Cluster
from specdec_operator.control.memory import Applied, Memory, Refused
from specdec_operator.control.stores import Child, Stores
from specdec_operator.control.wakeups import Key
from specdec_operator.errors import Invalid, Unavailable
from specdec_operator.guard.state import State
from specdec_operator.serving.hindrance import Hindrance
from specdec_operator.serving.marks import marks_of
from specdec_operator.serving.render import Rendered

_ASK_AGAIN: Final = 300.0
"""Seconds after which a refused manifest is tried again: a webhook or a quota may have refused it, not the schema."""


def try_again(memory: Memory, rendered: Rendered, now: float) -> bool:
    """Whether this very manifest was refused so long ago that it is to be tried again.

    Raises the refusal where it is younger, so that the API server is not asked and the user not told at every turn.
    """
    refused = memory.refused
    if refused is None or refused.digest != _digest(rendered):
        memory.refused = None
        return False
    if now - refused.at < _ASK_AGAIN:
        raise refused.error
    return True


async def keep_applied(
    cluster: Cluster, stores: Stores, key: Key, memory: Memory, rendered: Rendered, now: float
) -> None:
    """Applies the manifest when it is another one, or when somebody changed or deleted what was made of it.

    Who does that again and again has to wait, each time longer: else two who fight would do nothing else.
    """
    digest = _digest(rendered)
    if not _is_due(memory, stores.child(key), digest, now):
        return
    try:
        live = await cluster.apply(rendered.manifest)
    except Invalid as error:
        memory.refused = Refused(digest=digest, error=error, at=now)
        raise
    except Unavailable as error:
        memory.hindrance = Hindrance(reason=error.reason, message=error.message)
        raise
    memory.refused = memory.hindrance = None
    generation, marks = live["metadata"]["generation"], marks_of(rendered.manifest)
    memory.applied = Applied(digest=digest, generation=generation, marks=marks)
    stores.note_applied(key, marks)


def _is_due(memory: Memory, child: Child | None, digest: str, now: float) -> bool:
    """Whether the manifest is to be applied now; notes who made that necessary, and what is left for later."""
    contest, applied = memory.contest.so_far(now), memory.applied
    memory.contest = contest
    if applied is None or applied.digest != digest:
        return True
    if child is None or not child.drifted(applied.generation, applied.marks):
        return False
    memory.contest = contest.waiting() if now < contest.due else contest.put_back(child.by, now)
    return now >= contest.due


async def restart_pods(cluster: Cluster, stores: Stores, key: Key, state: State) -> None:
    """Deletes pods that are to be restarted; their Deployment makes others in their place."""
    for pod in stores.pods(key):
        if pod.name in state.restarting and not pod.deleting:
            meta = {"namespace": key[0], "name": pod.name}
            await cluster.remove({"apiVersion": "v1", "kind": "Pod", "metadata": meta})


def _digest(rendered: Rendered) -> str:
    return hashlib.sha256(json.dumps(rendered.manifest, sort_keys=True).encode()).hexdigest()
