"""Our own CRD: there, served, and with the schema that this command was built with."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from specdec_operator import names
from specdec_operator.api.crd import openapi
from specdec_operator.cli.found import Found
from specdec_operator.doctor.finding import Area, Finding, Kind, Severity
from specdec_operator.doctor.picture import Picture

APPLY: Final = "kubectl apply --server-side -f crds/ of this release"
_WORDS: Final = frozenset({"description", "title"})
_MOST: Final = 3

MISSING: Final = Kind(
    id="CRDMissing",
    area=Area.CRD,
    severity=Severity.FIX,
    when="SpeculativeInferenceServices are not known to the API server",
    why="no service can be written",
)
NOT_SERVED: Final = Kind(
    id="CRDNotServed",
    area=Area.CRD,
    severity=Severity.FIX,
    when=f"the CRD is there, and {names.VERSION} of it is not served",
    why="neither the operator nor this command reads another version",
)
OLDER: Final = Kind(
    id="CRDOlder",
    area=Area.CRD,
    severity=Severity.FIX,
    when="the CRD lacks fields that this command knows (Helm upgrades no CRDs by itself)",
    why="the API server drops those fields without a word",
)
NEWER: Final = Kind(
    id="CRDNewer",
    area=Area.CRD,
    severity=Severity.LOOK,
    when="the CRD has fields that this command does not know, and lacks none",
    why="this command is older than the cluster and may misread services",
)
DIFFERS: Final = Kind(
    id="CRDDiffers",
    area=Area.CRD,
    severity=Severity.LOOK,
    when="the CRD has the same fields, with other bounds, defaults or rules",
    why="it is of another release or was edited, so `specdec validate` and the API server may disagree",
)
KINDS: Final = (MISSING, NOT_SERVED, OLDER, NEWER, DIFFERS)


def check(picture: Picture) -> Iterator[Finding]:
    """Everything about our CRD."""
    name = f"{names.PLURAL}.{names.GROUP}"
    if picture.sis_crd.missing:
        yield MISSING.found("", f"the CRD {name} is not there", APPLY)
    if not picture.sis_crd.there:
        return
    versions = picture.sis_crd.body.of("spec", "versions").items
    served = [each for each in versions if each.of("served").flag]
    ours = next((each for each in served if each.of("name").text == names.VERSION), None)
    if ours is None:
        have = ", ".join(each.of("name").text for each in served) or "no version"
        yield NOT_SERVED.found("", f"the CRD {name} serves {have}, not {names.VERSION}", APPLY)
        return
    yield from _compared(ours.of("schema", "openAPIV3Schema"))


def _compared(found: Found) -> Iterator[Finding]:
    theirs = found.value if isinstance(found.value, Mapping) else {}
    here, there = _ours(), dict(_parts(theirs))
    lacking, more = [each for each in here if each not in there], [each for each in there if each not in here]
    if lacking:
        yield OLDER.found("", f"the CRD lacks {_listed(lacking)}", APPLY)
    elif more:
        yield NEWER.found("", f"the CRD has {_listed(more)} besides", "use the specdec of the operator's release")
    elif changed := [path for path, part in here.items() if part != there[path]]:
        yield DIFFERS.found("", f"the CRD says something else about {_listed(changed)}", APPLY)


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


def _listed(paths: list[str]) -> str:
    more = len(paths) - _MOST
    return ", ".join(paths[:_MOST]) + (f" and {more} more" if more > 0 else "")
