"""Makes the InferenceService be as it is rendered, with no write while it is."""

import hashlib
import json
from dataclasses import replace
from typing import Final

from specdec_operator.errors import Invalid, OperatorError, Unavailable
from specdec_operator.guest.refusals import GUEST_MISSING, GUEST_TAKEN, GUEST_TOO_LARGE, TOO_MANY_GUESTS
from specdec_operator.kube.cluster import Cluster
from specdec_operator.kube.denial import QUOTA_EXCEEDED, QUOTA_PAUSE
from specdec_operator.observe.inference_service import KServeError, metadata_marks
from specdec_operator.observe.ownership import LOOK_AGAIN, NAME_TAKEN, Standing
from specdec_operator.reconcile.adoption import take_along
from specdec_operator.reconcile.desired import Desired
from specdec_operator.reconcile.memory import Applied, RefusedManifest, ServiceMemory
from specdec_operator.reconcile.observed import Observed
from specdec_operator.reconcile.own import adoption, write_own
from specdec_operator.reconcile.sis import Sis
from specdec_operator.render.inference_service import Rendered

ASK_AGAIN: Final = 300.0
"""Seconds after which a refused manifest is tried again: a webhook or a quota may have refused it, not the schema."""


def refusal_in_force(memory: ServiceMemory, desired: Desired, now: float, *, adopts: bool) -> Invalid | None:
    """Why this very manifest was refused, unless that is so long ago that it is to be tried again.

    adopts: whether the service may take over what has its names now.
    """
    before = memory.refused
    if before is None or not is_tried_again(memory, desired) or now >= ask_again_at(before):
        return None
    return before.error if before.adopts == adopts else None


def is_tried_again(memory: ServiceMemory, desired: Desired) -> bool:
    """Whether this very manifest was refused before, or what its downloads need."""
    return memory.refused is not None and memory.refused.digest == digest_of(desired.rendered)


def refused(error: Invalid, sis: Sis, rendered: Rendered, now: float) -> RefusedManifest:
    """What is remembered of the refusal of a manifest, or of the PVC or a Job that it needs."""
    return RefusedManifest(digest=digest_of(rendered), error=error, at=now, adopts=sis.adopts)


def ask_again_at(before: RefusedManifest) -> float:
    """When what was refused is tried again, epoch seconds."""
    return before.at + patience(before.error)


def patience(error: Invalid) -> float:
    """Seconds after which a refusal may be over without a change of the service."""
    of_guests = (GUEST_MISSING, GUEST_TAKEN, GUEST_TOO_LARGE, TOO_MANY_GUESTS)
    soon = dict.fromkeys((NAME_TAKEN, *of_guests), LOOK_AGAIN)
    return {**soon, QUOTA_EXCEEDED: QUOTA_PAUSE}.get(error.reason, ASK_AGAIN)


async def apply_if_drifted(
    cluster: Cluster, sis: Sis, observed: Observed, memory: ServiceMemory, rendered: Rendered, now: float
) -> tuple[ServiceMemory, OperatorError | None]:
    """Applies the manifest if it is a different one, or if another client changed or deleted the InferenceService.

    If a client changes it repeatedly, each restore waits longer. Otherwise the operator and that client would write
    without end. Also returns why the manifest could not be applied, so that the caller can remember it.
    """
    digest, look = digest_of(rendered), observed.look
    due, memory = _is_due(memory, observed, digest, now)
    if not due:
        return memory, None
    try:
        taken = await take_along(cluster, sis, look)
        live = await write_own(cluster, rendered.manifest, sis.claimant, look)
    except Invalid as error:
        return replace(memory, refused=refused(error, sis, rendered, now)), error
    except Unavailable as error:
        why = KServeError(reason=error.reason, message=error.message)
        return replace(memory, kserve_error=why, free_at=0.0), error
    metadata, meta = metadata_marks(rendered.manifest), live["metadata"]
    uid, generation = str(meta.get("uid", "")), meta["generation"]
    applied = Applied(digest=digest, generation=generation, metadata=metadata, uid=uid, at=now)
    if told := adoption("InferenceService", sis.owner.name, look, sis.claimant):
        memory = replace(memory, unsent=(*memory.unsent, *taken, told))
    return replace(memory, refused=None, kserve_error=None, applied=applied), None


def _is_due(memory: ServiceMemory, observed: Observed, digest: str, now: float) -> tuple[bool, ServiceMemory]:
    """Whether the manifest is to be applied now; notes who made that necessary, and what is left for later."""
    conflict, applied, child = memory.conflict.so_far(now), memory.applied, observed.objects.child
    memory = replace(memory, conflict=conflict)
    if applied is None or applied.digest != digest:
        return True, memory
    if child is None:  # its event is on the way, or it went while nothing was watched and was looked for
        return observed.look.standing is Standing.FREE, memory
    if not child.drifted(applied.generation, applied.metadata):
        return False, memory
    due = now >= conflict.due
    return due, replace(memory, conflict=conflict.put_back(child.by, now) if due else conflict.waiting())


def digest_of(rendered: Rendered) -> str:
    """A digest of the whole manifest."""
    return hashlib.sha256(json.dumps(rendered.manifest, sort_keys=True).encode()).hexdigest()
