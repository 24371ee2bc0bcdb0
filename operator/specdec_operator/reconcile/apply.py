"""Makes the InferenceService be as it is rendered, with no write while it is."""

import hashlib
import json
from dataclasses import replace
from typing import Final

from specdec_operator.errors import Invalid, OperatorError, Unavailable
from specdec_operator.kube.client import Cluster
from specdec_operator.observe.inference_service import KServeError, owned_metadata
from specdec_operator.observe.store import Child
from specdec_operator.reconcile.memory import Applied, Memory, RefusedManifest
from specdec_operator.render.inference_service import Rendered

ASK_AGAIN: Final = 300.0
"""Seconds after which a refused manifest is tried again: a webhook or a quota may have refused it, not the schema."""


def refusal_in_force(memory: Memory, rendered: Rendered, now: float) -> Invalid | None:
    """Why the API server refused this very manifest, unless that is so long ago that it is to be tried again."""
    refused = memory.refused
    if refused is None or refused.digest != digest_of(rendered) or now - refused.at >= ASK_AGAIN:
        return None
    return refused.error


def is_tried_again(memory: Memory, rendered: Rendered) -> bool:
    """Whether this very manifest was refused before."""
    return memory.refused is not None and memory.refused.digest == digest_of(rendered)


async def apply_if_drifted(
    cluster: Cluster, child: Child | None, memory: Memory, rendered: Rendered, now: float
) -> tuple[Memory, OperatorError | None]:
    """Applies the manifest when it is another one, or when somebody changed or deleted what was made of it.

    Who does that again and again has to wait, each time longer: else two who fight would do nothing else.
    Returns why it could not be applied, too, for that is to be remembered.
    """
    digest = digest_of(rendered)
    due, memory = _is_due(memory, child, digest, now)
    if not due:
        return memory, None
    try:
        live = await cluster.apply(rendered.manifest)
    except Invalid as error:
        return replace(memory, refused=RefusedManifest(digest=digest, error=error, at=now)), error
    except Unavailable as error:
        return replace(memory, kserve_error=KServeError(reason=error.reason, message=error.message)), error
    metadata = owned_metadata(rendered.manifest)
    applied = Applied(digest=digest, generation=live["metadata"]["generation"], metadata=metadata)
    return replace(memory, refused=None, kserve_error=None, applied=applied), None


def _is_due(memory: Memory, child: Child | None, digest: str, now: float) -> tuple[bool, Memory]:
    """Whether the manifest is to be applied now; notes who made that necessary, and what is left for later."""
    conflict, applied = memory.conflict.so_far(now), memory.applied
    memory = replace(memory, conflict=conflict)
    if applied is None or applied.digest != digest:
        return True, memory
    if child is None or not child.drifted(applied.generation, applied.metadata):
        return False, memory
    due = now >= conflict.due
    return due, replace(memory, conflict=conflict.put_back(child.by, now) if due else conflict.waiting())


def digest_of(rendered: Rendered) -> str:
    """A digest of the whole manifest."""
    return hashlib.sha256(json.dumps(rendered.manifest, sort_keys=True).encode()).hexdigest()
