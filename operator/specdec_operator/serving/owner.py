"""The sis that owns what is rendered: Kubernetes deletes it all with its owner."""

from dataclasses import dataclass
from typing import Any

from specdec_operator import names


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """The sis that owns what is rendered."""

    name: str
    namespace: str
    uid: str


def owner_reference(owner: Owner) -> dict[str, Any]:
    """The entry of ownerReferences."""
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.KIND,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
