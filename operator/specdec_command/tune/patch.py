"""What to change in the spec after a tuning, and whether the engine takes it. Pure."""

from collections.abc import Iterator, Sequence
from math import ceil
from typing import Any, Final

from specdec_command.measure.context import Object
from specdec_command.tune.tuning import TunedLoad
from specdec_command.validation.check import check_document
from specdec_command.validation.documents import Document
from specdec_engine.rule import Severity
from specdec_operator import names
from specdec_operator.guard.rows import as_setting, rows_by_size

_CHANGED: Final = ("tokensByBatchSize", "speculation.tokens")
"""What a warning has to be about to matter here: the service may have had others before."""


def patch_of(loads: Sequence[TunedLoad], requested: int, pods: int) -> dict[str, Any]:
    """What to change in the spec, as a merge patch; empty if nothing is to change. A row counts the requests of one
    pod. It reaches from above the load that was tried before up to its own; larger loads than the largest draft what
    that one does.
    """
    chosen: dict[int, int] = {}
    for each in sorted(loads, key=lambda load: load.load.concurrency or 1):
        of_pod = ceil((each.load.concurrency or 1) / pods)
        chosen[of_pod] = min(each.tokens, chosen.get(of_pod, each.tokens))
    if {*chosen.values()} == {requested}:
        return {}
    if {*chosen.values()} == {0}:
        return {"spec": {"speculation": None}}
    if len({*chosen.values()}) == 1:
        return {"spec": {"speculation": {"tokens": chosen.popitem()[1]}}}
    return {"spec": {"speculation": {"tokensByBatchSize": as_setting(rows_by_size(chosen))}}}


def problems_of(service: Object, patch: dict[str, Any]) -> Iterator[str]:
    """Why the patched service would be refused, or would not use the patch, by the rules of `specdec validate`."""
    part = (patch.get("spec") or {}).get("speculation")
    if not part:
        return
    spec = service["spec"] | {"speculation": service["spec"]["speculation"] | part}
    meta = {key: service["metadata"][key] for key in ("name", "namespace")}
    data = {"apiVersion": names.API_VERSION, "kind": names.KIND, "metadata": meta, "spec": spec}
    for each in check_document(Document(data=data, line=1, lines={})):
        warned = each.severity is Severity.WARNED and any(word in each.path for word in _CHANGED)
        if warned or each.severity is Severity.REFUSED:
            yield f"{each.path}: {each.message}"
