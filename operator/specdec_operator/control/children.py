"""Keeps the InferenceService as it is rendered, with no write while it is."""

import hashlib
import json
from typing import Final

from specdec_operator.cluster import Cluster
from specdec_operator.control.memory import Applied, Memory, Refused
from specdec_operator.control.stores import Stores
from specdec_operator.control.wakeups import Key
from specdec_operator.errors import Invalid, Unavailable
from specdec_operator.serving.hindrance import Hindrance
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
    """Applies the manifest when it is another one, or when somebody changed or deleted what was made of it."""
    digest = _digest(rendered)
    child, applied = stores.child(key), memory.applied
    if applied is not None and applied.digest == digest and (child is None or not child.drifted(applied.generation)):
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
    memory.applied = Applied(digest=digest, generation=live["metadata"]["generation"])
    stores.note_applied(key)


def _digest(rendered: Rendered) -> str:
    return hashlib.sha256(json.dumps(rendered.manifest, sort_keys=True).encode()).hexdigest()
