"""What to change in the spec after a tuning, and whether the engine takes it. Pure."""

from collections.abc import Iterator, Sequence
from typing import Any

from specdec_command.measure.context import Object
from specdec_command.tune.tuning import TunedLoad
from specdec_command.validation.check import check_document
from specdec_command.validation.documents import Document
from specdec_engine.rule import Severity
from specdec_operator import names
from specdec_operator.guard.rows import as_setting, rows_by_size


def patch_of(loads: Sequence[TunedLoad], requested: int) -> dict[str, Any]:
    """What to change in the spec, as a merge patch; empty if nothing is to change. Larger loads than the largest one
    that was tried draft what that one does.
    """
    chosen = {each.load.concurrency or 1: each.tokens for each in loads}
    if {*chosen.values()} == {requested}:
        return {}
    if {*chosen.values()} == {0}:
        return {"spec": {"speculation": None}}
    if len({*chosen.values()}) == 1:
        return {"spec": {"speculation": {"tokens": loads[0].tokens}}}
    return {"spec": {"speculation": {"tokensByBatchSize": as_setting(rows_by_size(chosen))}}}


def problems_of(service: Object, patch: dict[str, Any]) -> Iterator[str]:
    """Why the patched service would be refused, by the rules of `specdec validate`."""
    part = (patch.get("spec") or {}).get("speculation")
    if not part:
        return
    spec = service["spec"] | {"speculation": service["spec"]["speculation"] | part}
    meta = {key: service["metadata"][key] for key in ("name", "namespace")}
    data = {"apiVersion": names.API_VERSION, "kind": names.KIND, "metadata": meta, "spec": spec}
    for each in check_document(Document(data=data, line=1, lines={})):
        if each.severity is Severity.REFUSED:
            yield f"{each.path}: {each.message}"
