"""The dial of a guest: which of its pods have one, and a sentence if the operator may not set it. Pure.

A pod has one if its own template asks for it, by a volume that shows it the operator's annotation. So nothing is
written to a pod whose owner does not expect it.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from specdec_operator.api.guest import GuestKind, GuestRef
from specdec_operator.guest.enforcement import Enforcement
from specdec_operator.names import DIAL_ANNOTATION
from specdec_operator.observe.pods import MOST_WORDS

_SETTING: Final = f"metadata.annotations['{DIAL_ANNOTATION}']"
_LABEL: Final = re.compile(r"metadata\.labels\['([^']+)'\]")


def dial_revision(pod: Mapping[str, Any]) -> str:
    """What the file `revision` of a pod's dial has: the label that its downward-API volume names, such as
    `pod-template-hash`. Empty if it has no such volume, and so no dial.
    """
    labels = pod["metadata"].get("labels") or {}
    for volume in (pod.get("spec") or {}).get("volumes") or ():
        items = (volume.get("downwardAPI") or {}).get("items") or ()
        files = {each.get("path"): (each.get("fieldRef") or {}).get("fieldPath", "") for each in items}
        label = _LABEL.fullmatch(files.get("revision", ""))
        if files.get("setting") == _SETTING and label is not None:
            return str(labels.get(label[1], ""))
    return ""


def why_no_dial(ref: GuestRef, allowed: Enforcement) -> str:
    """Why the annotation of a service that guards this cannot be followed, and the way out."""
    if ref.kind is not GuestKind.INFERENCE_SERVICE:
        words = f"the operator writes nothing to the pods of {ref}: only those of an InferenceService have a dial"
        return f"{DIAL_ANNOTATION}: {words}; remove the annotation"
    if not allowed.may and not allowed.reason:
        words = f"guard.mode is not Enforce, so the operator writes nothing to the pods of {ref}"
        return f"{DIAL_ANNOTATION}: {words}: set guard.mode to Enforce, or remove the annotation"
    if not allowed.may:
        return f"{DIAL_ANNOTATION}: {allowed.message[:MOST_WORDS]}"
    return (
        f"{DIAL_ANNOTATION}: the pods of {ref} have no dial: guard.dial.mode is Off, or they run without speculation, "
        f"or no downward-API volume shows them annotation {DIAL_ANNOTATION} as file setting and a label as file "
        "revision; add what is missing, or remove the annotation"
    )
