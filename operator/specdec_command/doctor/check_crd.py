"""Our own CRD: there, served, and with the schema that this command was built with."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from specdec_command.doctor.finding import DoctorFinding, finding
from specdec_command.doctor.snapshot import Snapshot
from specdec_operator import names
from specdec_operator.display.describe import listed
from specdec_operator.display.untrusted import Untrusted
from specdec_operator.schema.crd import openapi

APPLY: Final = "kubectl apply --server-side -f crds/ of this release"
_WORDS: Final = frozenset({"description", "title"})
_MOST: Final = 3


def check(snapshot: Snapshot) -> Iterator[DoctorFinding]:
    """Everything about our CRD."""
    name = f"{names.PLURAL}.{names.GROUP}"
    if snapshot.own_crd.missing:
        yield finding("CRDMissing", "", f"the CRD {name} does not exist", APPLY)
    if not snapshot.own_crd.there:
        return
    versions = snapshot.own_crd.body.of("spec", "versions").items
    served = [each for each in versions if each.of("served").flag]
    ours = next((each for each in served if each.of("name").text == names.VERSION), None)
    if ours is None:
        have = ", ".join(each.of("name").text for each in served) or "no version"
        yield finding("CRDNotServed", "", f"the CRD {name} serves {have}, not {names.VERSION}", APPLY)
        return
    yield from _compared(ours.of("schema", "openAPIV3Schema"))


def _compared(schema: Untrusted) -> Iterator[DoctorFinding]:
    theirs = schema.value if isinstance(schema.value, Mapping) else {}
    here, there = _ours(), dict(_parts(theirs))
    lacking, more = [each for each in here if each not in there], [each for each in there if each not in here]
    if lacking:
        yield finding("CRDOlder", "", f"the CRD lacks {listed(lacking, _MOST)}", APPLY)
    elif more:
        fix = "use the specdec of the operator's release"
        yield finding("CRDNewer", "", f"the CRD has additional fields: {listed(more, _MOST)}", fix)
    elif changed := [path for path, part in here.items() if part != there[path]]:
        yield finding("CRDDiffers", "", f"the CRD defines {listed(changed, _MOST)} differently", APPLY)


@cache
def _ours() -> Mapping[str, Any]:
    return dict(_parts(openapi()))


def _parts(schema: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Each field by its path, with what is asked of it; nothing that is only read by people."""
    inner = {"properties", "items", *_WORDS}
    yield path or "the object", {key: value for key, value in schema.items() if key not in inner}
    for name, part in schema.get("properties", {}).items():
        yield from _parts(part, f"{path}.{name}".removeprefix("."))
    if isinstance(schema.get("items"), Mapping):
        yield from _parts(schema["items"], f"{path}[]")
