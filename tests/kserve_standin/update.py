"""Decides what KServe would write over an object that is there already, and when it leaves the object alone.

A Service is compared by ports and selector only, so a changed annotation reaches the pods but not the Service.
"""

from __future__ import annotations

from tests.kserve_standin.apiserver import as_stored
from tests.kserve_standin.model import AUTOSCALER_CLASS, Manifest, annotation

_COMPARED = ("ports", "selector")
_KEPT_ANNOTATIONS = "deployment.kubernetes.io/"  # the Deployment controller's own bookkeeping


def deployment_update(wanted: Manifest, found: Manifest) -> Manifest:
    """Return the Deployment to write; whether it differs at all, only the API server's defaults can tell."""
    metadata = dict(wanted["metadata"])
    annotations = (found["metadata"].get("annotations") or {}).items()
    kept = {key: value for key, value in annotations if key.startswith(_KEPT_ANNOTATIONS)}
    metadata["annotations"] = {**metadata["annotations"], **kept}
    if "resourceVersion" in found["metadata"]:
        metadata["resourceVersion"] = found["metadata"]["resourceVersion"]
    spec = dict(wanted["spec"])
    if annotation(wanted, AUTOSCALER_CLASS) != "none":
        spec["replicas"] = found["spec"]["replicas"]
    return {**wanted, "metadata": metadata, "spec": spec}


def service_update(wanted: Manifest, found: Manifest) -> Manifest | None:
    """Return the Service to write, or None when it will do as it is."""
    parts = {name: as_stored(wanted)["spec"][name] for name in _COMPARED}
    if all(found["spec"].get(name) == part for name, part in parts.items()):
        return None
    return {**found, "spec": {**found["spec"], **parts}}


def autoscaler_update(wanted: Manifest, found: Manifest) -> Manifest | None:
    """Return the HPA to write, or None when it will do as it is."""
    same_class = annotation(wanted, AUTOSCALER_CLASS) == annotation(found, AUTOSCALER_CLASS)
    if same_class and found["spec"] == as_stored(wanted)["spec"]:
        return None
    return {**found, "metadata": {**found["metadata"], **wanted["metadata"]}, "spec": wanted["spec"]}
