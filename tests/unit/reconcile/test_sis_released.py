"""Hashes and revisions stay as released: decisions are found by the former, and the latter replace pods."""

import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Annotated, Any, Final, get_args

import pytest
import yaml
from pydantic import Field
from pydantic.fields import FieldInfo
from tests.unit.builders import DRAFT
from tests.unit.reconcile.released import HASHES, computed

from specdec_operator.api.canonical import CameWith, canonical
from specdec_operator.api.spec import Spec
from specdec_operator.api.speculation import Speculation
from specdec_operator.api.types import Part
from tests import released

_PROGRAM: Final = pathlib.Path(__file__).with_name("released.py")
_FILE: Final = released.DATA / "hashes.json"
SPECS: Final[dict[str, Any]] = yaml.safe_load((released.DATA / "specs.yaml").read_text())
_HASHED: Final = ("speculation", "model", "engine", "resources", "pod", "memory")


def _kept() -> dict[str, dict[str, str]]:
    kept: dict[str, dict[str, str]] = json.loads(_FILE.read_text()) if _FILE.exists() else {}
    if os.environ.get("SPECDEC_GOLDEN") == "revisions":
        for name, spec in SPECS.items():
            made = computed(spec)
            kept[name] = made | {each: kept.get(name, made)[each] for each in HASHES}
        _FILE.write_text(json.dumps(kept, indent=1) + "\n")
    return kept


KEPT: Final = _kept()


@pytest.mark.parametrize("name", SPECS)
def test_no_hash_changes(name: str) -> None:
    """A changed hash forgets every decision about such a service: a rolled-back draft comes up again."""
    made, kept = computed(SPECS[name]), KEPT[name]
    assert {each: made[each] for each in HASHES} == {each: kept[each] for each in HASHES}, (
        "operators would forget rollbacks and baselines of such services: tests/data/released/README.md says what to do"
    )


@pytest.mark.parametrize("name", SPECS)
def test_no_revision_changes(name: str) -> None:
    """A changed revision replaces every pod of such a service when the operator is upgraded."""
    made, kept = computed(SPECS[name]), KEPT[name]
    changed = {each: (kept[each], made[each]) for each in made if made[each] != kept[each] and each not in HASHES}
    assert not changed, (
        "an upgrade would replace the pods of such services: tests/data/released/README.md says how to mean it"
    )


def test_the_hashes_are_those_of_the_first_release(tmp_path: pathlib.Path) -> None:
    """Its own code computes them: statuses that it wrote are found by them, and it finds those that we write."""
    path = released.unpack(tmp_path).python_path
    ran = subprocess.run(
        [sys.executable, str(_PROGRAM)],
        input=json.dumps(SPECS),
        env={"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    then = json.loads(ran.stdout)
    assert {name: {each: then[name][each] for each in HASHES} for name in SPECS} == {
        name: {each: KEPT[name][each] for each in HASHES} for name in SPECS
    }


class _Later(Speculation):
    """The speculation of a later release: a field with a default, and a part with one inside."""

    class Inner(Part):
        """A part that is there from the first release on."""

        old: int = 1
        new: Annotated[int, CameWith(7)] = 9

    careful: Annotated[bool, CameWith(False)] = Field(False)
    inner: Inner | None = None
    rows: list[Inner] | None = None


def test_a_new_field_with_a_default_forgets_nothing() -> None:
    """The API server fills it into every service that is stored; the user wrote nothing."""
    before = canonical(Speculation.model_validate(DRAFT))
    assert canonical(_Later.model_validate(DRAFT)) == before
    assert canonical(_Later.model_validate(DRAFT | {"careful": False})) == before
    assert canonical(_Later.model_validate(DRAFT | {"careful": True})) == before | {"careful": True}


def test_a_default_that_changes_later_forgets_nothing() -> None:
    """Services that were stored before hold the value that the field came with; it goes on meaning what it meant."""
    rows = [{"old": 1, "new": 7}, {"new": 9}]
    made = canonical(_Later.model_validate(DRAFT | {"inner": {"new": 7}, "rows": rows}))
    assert (made["inner"], made["rows"]) == ({"old": 1}, [{"old": 1}, {"old": 1, "new": 9}])


def _parts(annotation: Any) -> Iterator[type[Part]]:
    if isinstance(annotation, type) and issubclass(annotation, Part):
        yield annotation
    for each in get_args(annotation):
        yield from _parts(each)


def _fields(part: type[Part], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], FieldInfo]]:
    for name, field in part.model_fields.items():
        here = (*path, field.alias or name)
        yield here, field
        for inner in _parts(field.annotation):
            yield from _fields(inner, here)


def _known(schema: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """The schema of a field, empty where it is not known."""
    for word in path:
        schema = schema.get("items", schema).get("properties", {}).get(word, {})
    return schema


def test_defaults_of_hashed_fields_are_those_of_the_first_release_or_marked(tmp_path: pathlib.Path) -> None:
    """A default that is not marked by CameWith would be hashed, and was not before."""
    crd = yaml.safe_load(released.unpack(tmp_path).crd.read_text())
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    fields = [(path, field) for path, field in _fields(Spec, ()) if path[0] in _HASHED]
    assert ("speculation", "ngram", "lookupMin") in dict(fields)
    unmarked = [
        ".".join(path)
        for path, field in fields
        if field.get_default(call_default_factory=True) is not None
        and not field.is_required()
        and "default" not in _known(schema, path)
        and not any(isinstance(each, CameWith) for each in field.metadata)
    ]
    assert not unmarked, (
        "mark these with CameWith(DEFAULT): else every decision about a service that has them is forgotten"
    )
