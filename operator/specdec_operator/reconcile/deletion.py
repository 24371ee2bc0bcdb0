"""What stays when a service is deleted: it carries no owner reference, and is known by its uid in the status. Pure."""

from typing import Final

from specdec_operator.api.spec import DeletionPolicy
from specdec_operator.observe.ownership import Owned, OwnerView, Standing
from specdec_operator.reconcile.memory import DownloadMemory, ServiceMemory
from specdec_operator.reconcile.sis import Sis
from specdec_operator.staging.artifacts import claim_name

_CHILD: Final = "InferenceService"
_CLAIM: Final = "PersistentVolumeClaim"


def unreferenced(sis: Sis, look: OwnerView, memory: ServiceMemory) -> tuple[Owned, ...]:
    """The service's own objects that are to have no owner reference, or have none at this moment.

    The operator writes the status before it acts. An owner reference is removed only after the object is in the status,
    and the object leaves the status only after the reference is back. So at each moment one of the two shows who owns
    it.
    """
    found = []
    if look.standing is Standing.OURS and look.uid and (_stays(sis) or look.controller is None):
        found.append(Owned(kind=_CHILD, name=sis.owner.name, uid=look.uid))
    if uid := _claim(sis, memory.downloads):
        found.append(Owned(kind=_CLAIM, name=claim_name(sis.owner.name), uid=uid))
    return tuple(found)


def is_let_go(sis: Sis, owned: tuple[Owned, ...], kind: str) -> bool:
    """Whether the service's object of a kind is to carry no owner reference. owned: what the status knows."""
    return _stays(sis) and any(each.kind == kind for each in owned)


def _claim(sis: Sis, seen: DownloadMemory) -> str:
    """The uid of the PVC, if it is among them. Until the PVC is read again, its entry in the status counts."""
    noted = next((str(each["uid"]) for each in sis.status.get("owned") or () if each["kind"] == _CLAIM), "")
    loose = bool(noted) if seen.let_go is None else seen.let_go
    return (seen.claim_uid or noted) if _stays(sis) or loose else ""


def _stays(sis: Sis) -> bool:
    return sis.spec.deletion_policy is DeletionPolicy.ORPHAN
