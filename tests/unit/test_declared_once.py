"""What is added in one place follows everywhere: a version of the engine, a method, a scheme, a flag, a check."""

import ast
import inspect
import json
import pathlib
import re
from collections.abc import Iterator
from typing import Any

import pytest

from specdec_command.advice.catalogue import METHODS as ADVICE
from specdec_engine import check, methods, rules
from specdec_engine.flags import option
from specdec_engine.quantity import MEMORY, parse_quantity, quantity
from specdec_engine.tables import table
from specdec_engine.version import IMAGES, NEWEST, OLDEST, major_minor
from specdec_operator.api.engine import Engine
from specdec_operator.api.speculation import Method
from specdec_operator.engine.owned_flags import FLAGS, OWNED_FLAGS
from specdec_operator.guard import acceptance, checks, speed_checks
from specdec_operator.guard.judge import BASELINE_CHECKS, CHECKS
from specdec_operator.guard.policy import METHODS as GUARDED
from specdec_operator.schema.crd import openapi
from specdec_operator.staging import schemes, source

ROOT = pathlib.Path(__file__).parents[2]
SPEC: dict[str, Any] = openapi()["properties"]["spec"]["properties"]


def texts(part: dict[str, Any]) -> str:
    """The CEL rules of a part of the CRD, and their messages."""
    return "\n".join(f"{each['rule']}\n{each['message']}" for each in part["x-kubernetes-validations"])


TABLES = sorted((ROOT / "runtime" / "specdec_engine" / "data").glob("*.json"))
CODE = sorted(
    file
    for folder in ("runtime", "operator/specdec_operator/engine", "operator/specdec_command/advice")
    for file in (ROOT / folder).rglob("*.py")
)
"""Where something may know that engines differ by their version."""
RELEASE = re.compile(r"0\.\d+(\.\d+)?")


def releases_in(value: object) -> Iterator[str]:
    """The releases that a table names, in keys and values."""
    match value:
        case str() if RELEASE.fullmatch(value):
            yield value
        case dict():
            for key, inner in value.items():
                yield from releases_in(key)
                yield from releases_in(inner)
        case list():
            for inner in value:
                yield from releases_in(inner)


def releases_of(node: ast.AST) -> Iterator[str]:
    """The releases that a part of a program names: `"0.33"`, `Version(0, 33)`, `(0, 33)`."""
    match node:
        case ast.Constant(value=str(text)) if RELEASE.fullmatch(text):
            yield text
        case ast.Call(func=ast.Name(id="Version"), args=[ast.Constant(value=0), ast.Constant(value=int(minor)), *_]):
            yield f"0.{minor}"
        case ast.Tuple(elts=[ast.Constant(value=0), ast.Constant(value=int(minor))]) if minor > 1:
            yield f"0.{minor}"


def releases_of_code(source: str) -> set[str]:
    """The releases that a program names."""
    return {text for node in ast.walk(ast.parse(source)) for text in releases_of(node)}


def test_no_table_knows_a_release_of_vllm_that_another_does_not() -> None:
    """Each table that has a column for each release ends with NEWEST, and so does the image. No table, rule or line of
    code names a later one, or one that is older than OLDEST.
    """
    tables = {each.stem: json.loads(each.read_text()) for each in TABLES}
    columns = {name: tuple(each["versions"]) for name, each in tables.items() if "versions" in each}
    assert {*columns} == {"architectures", "flags", "model_types", "values"}
    assert len({*columns.values()}) == 1
    newest = {"batches": [*tables["batches"]["releases"]][-1], "image": IMAGES["nvidia"]}
    newest |= {name: each[-1] for name, each in columns.items()}
    assert {name: major_minor(each) for name, each in newest.items()} == dict.fromkeys(newest, NEWEST)
    named = {text: name for name, each in tables.items() for text in releases_in(each)}
    named |= {text: file.name for file in CODE for text in releases_of_code(file.read_text())}
    named |= {each.since: name for name, advice in ADVICE.items() for each in advice.releases}
    assert {text: where for text, where in named.items() if not OLDEST <= (major_minor(text) or NEWEST) <= NEWEST} == {}


def test_the_runtime_names_no_release_of_vllm() -> None:
    """What depends on one is in the rules and tables about engines."""
    own = {each.name: each.read_text() for each in CODE if "specdec_runtime" in each.parts}
    assert {name for name, source in own.items() if releases_of_code(source)} == set()


@pytest.mark.parametrize("source", ['"0.34"', '"0.33.1"', "Version(0, 34)", "(0, 34)", "Version(0, 34, 1)"])
def test_a_release_in_code_is_seen(source: str) -> None:
    """In each of the ways in which one is written."""
    assert len(releases_of_code(source)) == 1


def test_a_method_is_known_wherever_methods_are() -> None:
    """The API's names are those of the engine's table, of the guard and of the advice."""
    words = {each.value for each in Method}
    of_table = {word for word, row in table("methods")["methods"].items() if "alias_of" not in row}
    assert words == of_table == set(ADVICE) == {each.value for each in GUARDED}
    assert {*methods.WITH_DRAFT, *methods.WITHOUT_DRAFT, "mtp", "dspark", "mlp_speculator"} == words
    assert all(
        methods.plain_name(word) == "mtp" for word, row in table("methods")["methods"].items() if "alias_of" in row
    )
    rules_of_crd = texts(SPEC["speculation"])
    assert all(str(list(some)) in rules_of_crd for some in (methods.WITH_DRAFT, methods.WITHOUT_DRAFT))


def test_the_largest_numbers_of_tokens_are_the_crds() -> None:
    """And the depth of a suffix tree is its default."""
    speculation = SPEC["speculation"]["properties"]
    assert speculation["tokens"]["maximum"] == methods.MOST_TOKENS
    assert speculation["suffix"]["properties"]["maxTreeDepth"]["default"] == methods.SUFFIX_TREE_DEPTH
    assert f"tokens <= {methods.NPU_MOST_TOKENS}" in texts(openapi()["properties"]["spec"])


@pytest.mark.parametrize("scheme", schemes.SCHEMES, ids=lambda each: each.name)
def test_a_scheme_is_served_refused_and_described_by_its_row(scheme: schemes.Scheme) -> None:
    """The CRD's pattern takes a URI of its shape, the reader reads it, and the messages name it."""
    uri = f"{scheme.name}://{scheme.shape.lower()}"
    assert re.fullmatch(schemes.pattern(), uri)
    found = source.source("spec.model", uri.replace("host", "example.org"), None)
    assert (found.scheme, found.kind) == (scheme.name, scheme.kind)
    assert f"{scheme.name}://" in schemes.SERVED
    assert schemes.pattern() in texts(SPEC["model"]["properties"]["uri"])
    assert schemes.shapes() in texts(SPEC["model"]["properties"]["uri"])


def test_every_reader_has_a_scheme_and_every_unserved_one_has_none() -> None:
    """A scheme that is added is taken out of those that are not served."""
    assert list(source.READERS) == list(schemes.BY_NAME)
    assert not schemes.BY_NAME.keys() & schemes.UNSERVED.keys()


def test_a_flag_with_a_field_is_owned_and_in_the_crd() -> None:
    """If a user writes it into engine.args, the error names the field."""
    fields = {each.alias or name for name, each in Engine.model_fields.items()}
    assert {field for field, _ in FLAGS} <= fields
    assert {option(flag) for _, flag in FLAGS} <= set(OWNED_FLAGS)
    assert str(list(OWNED_FLAGS)) in texts(SPEC["engine"]["properties"]["args"])


@pytest.mark.parametrize("text", ["80Gi", "1.5G", "500M", "1024", "2Ti", "3k"])
def test_a_quantity_that_the_crd_takes_is_one_for_every_reader(text: str) -> None:
    """One parser, whether bytes are meant or any resource."""
    assert re.fullmatch(MEMORY, text)
    assert parse_quantity(text) == quantity(text)


def test_every_rule_file_is_looked_at_and_every_check_of_a_window_asked() -> None:
    """A file or a function that no list names would silently check nothing."""
    listed = {each.__module__.rpartition(".")[2] for each in check.CHECKS}
    assert listed == {each.stem for each in pathlib.Path(rules.__path__[0]).glob("[a-z]*.py")}
    functions = (
        each for file in (checks, acceptance, speed_checks) for each in inspect.getmembers(file, inspect.isfunction)
    )
    documented = {name for name, each in functions if (each.__doc__ or "")[:2] == "**"}
    assert {each.__name__ for each in (*CHECKS, *BASELINE_CHECKS)} == documented
