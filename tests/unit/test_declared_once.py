"""What is added in one place follows everywhere: a version of the engine, a method, a scheme, a flag, a check."""

import inspect
import pathlib
import re
from typing import Any

import pytest

from specdec_command.advice.catalogue import METHODS as ADVICE
from specdec_engine import check, methods, rules
from specdec_engine.flags import option
from specdec_engine.quantity import MEMORY, parse_quantity, quantity
from specdec_engine.tables import table
from specdec_engine.version import IMAGES, Flavor
from specdec_engine.versions import NEWEST, OLDEST, major_minor
from specdec_operator.api.crd import openapi
from specdec_operator.api.engine import Engine
from specdec_operator.api.speculation import Method
from specdec_operator.engine.owned_flags import FLAGS, OWNED_FLAGS
from specdec_operator.guard import speed_checks, window_checks
from specdec_operator.guard.judge import CHECKS, PLAIN_CHECKS
from specdec_operator.guard.policy import METHODS as GUARDED
from specdec_operator.staging import schemes, source

SPEC: dict[str, Any] = openapi()["properties"]["spec"]["properties"]


def texts(part: dict[str, Any]) -> str:
    """The CEL rules of a part of the CRD, and their messages."""
    return "\n".join(f"{each['rule']}\n{each['message']}" for each in part["x-kubernetes-validations"])


def test_the_newest_engine_is_that_of_the_tables_and_of_the_image() -> None:
    """No table knows a later release than NEWEST, and at least one knows that one."""
    of_rules = [text for rule in check.RULES for text in (rule.since, rule.until) if text]
    of_tables = [each for row in table("methods")["methods"].values() for each in (row.get("since"), row.get("until"))]
    of_advice = [each.since for advice in ADVICE.values() for each in advice.releases if each.flavor is Flavor.VLLM]
    seen = {major_minor(text) for text in (*of_rules, *of_tables, *of_advice) if text}
    seen |= {major_minor(each) for each in table("methods")["speculators"].values()}
    assert max(each for each in seen if each) == NEWEST == major_minor(IMAGES["nvidia"])
    assert min(each for each in seen if each) >= OLDEST


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
        each for file in (window_checks, speed_checks) for each in inspect.getmembers(file, inspect.isfunction)
    )
    checks = {name for name, each in functions if (each.__doc__ or "")[:2] == "**"}
    assert {each.__name__ for each in (*CHECKS, *PLAIN_CHECKS)} == checks
