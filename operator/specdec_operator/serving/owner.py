"""The sis that owns what is rendered: Kubernetes deletes it all with its owner."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from specdec_operator import names
from specdec_operator.errors import Invalid


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


def refuse_labels(labels: Mapping[str, str] | None) -> None:
    """Raises Invalid for labels of pods that are the operator's own: by these it tells pods and downloads apart."""
    for name, value in (labels or {}).items():
        if name.startswith(f"{names.GROUP}/"):
            raise Invalid(f"spec.pod.labels[{name}]", value, f"labels of {names.GROUP} are the operator's own")
