"""docs/seeds.md: the statements of the documents that this project started from, each with its place and its test.

The rows are in seeds.yaml beside this file. A row that names something that does not exist is an error.
"""

import ast
import functools
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

import yaml

from hack.pages import render
from specdec_engine.tables import table

_ROOT: Final = pathlib.Path(__file__).parents[2]
_DATA: Final = pathlib.Path(__file__).with_name("seeds.yaml")
_CRD: Final = _ROOT / "crds" / "serving.specdec.io_speculativeinferenceservices.yaml"
_NOT_BUILT: Final = "not built: "


def page() -> str:
    """The page. Raises ValueError with every row that names something that does not exist."""
    data = yaml.safe_load(_DATA.read_text(encoding="utf-8"))
    if wrong := [*problems(data)]:
        raise ValueError(f"{_DATA.name}: " + "; ".join(wrong))
    rows = [row for document in data["documents"] for topic in document["topics"].values() for row in topic]
    missing = sum(built.startswith(_NOT_BUILT) for _, built, _ in rows)
    counts = {"total": len(rows), "missing": missing}
    return render("seeds.md", documents=data["documents"], tests=data["tests"], places=places, code=code, **counts)


def places(built: str) -> str:
    """Fields, rules and files as code; why something is not built as text."""
    if built.startswith(_NOT_BUILT):
        return built
    return ", ".join(code(each.removeprefix("rule ")) for each in built.split(", "))


def code(word: str) -> str:
    """A word of code; nothing for nothing."""
    return f"`{word}`" if word else ""


def problems(data: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the rows: a field, a rule, a file or a test that does not exist, or a row without one."""
    used: set[str] = set()
    for document in data["documents"]:
        for statement, built, test in (row for topic in document["topics"].values() for row in topic):
            used.add(test)
            if built.startswith(_NOT_BUILT):
                yield from [f"{statement}: is not built, and names a test"] if test else []
                continue
            for each in built.split(", "):
                yield from [] if _is_built(each) else [f"{statement}: there is no {each}"]
            if not _is_tested(data["tests"].get(test, test)):
                yield f"{statement}: there is no test {test!r}"
    yield from (f"no row uses the test {name}" for name in data["tests"].keys() - used)


def _is_built(what: str) -> bool:
    if what.startswith("rule "):
        return what.removeprefix("rule ") in _rules()
    if what.startswith("spec."):
        return _has_field(what)
    return (_ROOT / what).is_file()


@functools.cache
def _rules() -> frozenset[str]:
    return frozenset(rule for group in table("rules")["rules"].values() for rule in group)


@functools.cache
def _schema() -> dict[str, Any]:
    crd = yaml.safe_load(_CRD.read_text(encoding="utf-8"))
    schema: dict[str, Any] = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def _has_field(path: str) -> bool:
    part: dict[str, Any] | None = _schema()
    for name in path.split("."):
        part = (part or {}).get("properties", {}).get(name)
    return part is not None


def _is_tested(test: str) -> bool:
    file, _, function = test.partition("::")
    return function in _functions(file)


@functools.cache
def _functions(file: str) -> frozenset[str]:
    path = _ROOT / file
    if not file or not path.is_file():
        return frozenset()
    nodes = ast.parse(path.read_text(encoding="utf-8")).body
    return frozenset(each.name for each in nodes if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))
