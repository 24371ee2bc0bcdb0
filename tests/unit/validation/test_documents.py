"""YAML that is not meant well: bounded time and memory, a clear sentence, and never a traceback."""

import string
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from specdec_command.validation.documents import MOST_BYTES, Document, Unreadable, documents


def only(text: str) -> Document:
    (found,) = documents(text)
    return found


def test_lines_are_those_of_the_file() -> None:
    """Of each key, of each item, and of the nearest thing above what is missing."""
    text = "a: 1\n---\n\nspec:\n  speculation:\n    tokens: 4\n  engine:\n    args:\n    - --x\n    - --y\n"
    _, found = documents(text)
    assert found.data == {"spec": {"speculation": {"tokens": 4}, "engine": {"args": ["--x", "--y"]}}}
    lines = {
        "spec": 4,
        "spec.speculation.tokens": 6,
        "spec.engine.args[1]": 10,
        "spec.speculation.draft.uri": 5,
        "metadata.name": 4,
    }
    assert {path: found.line_of(path) for path in lines} == lines


def test_merge_keys_bring_the_entries_that_a_mapping_does_not_have() -> None:
    """Of several mappings the first has priority, wherever the key stands."""
    text = "b: &b {x: 1, y: 2}\nc: &c {y: 3, z: 4}\na:\n  z: 5\n  <<: [*b, *c]\nd: {<<: *b}\n"
    assert only(text).data["a"] == {"x": 1, "y": 2, "z": 5}
    assert only(text).data["d"] == {"x": 1, "y": 2}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("1.5", 1.5),
        ("true", True),
        ("'1'", "1"),
        ("2001-01-01", "2001-01-01"),
        ("!!str 1", "1"),
        ("=", "="),
        ("0x10", 16),
        ("[a, {b: null}]", ["a", {"b": None}]),
        ("&x [1]", [1]),
        ("[&x {a: 1}, *x]", [{"a": 1}, {"a": 1}]),
    ],
)
def test_values_are_those_of_yaml(text: str, value: Any) -> None:
    """Dates stay text, as in JSON."""
    assert only(f"v: {text}").data == {"v": value}


BOMB = "\n".join(
    ["a0: &a0 [x, x, x, x, x, x, x, x, x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [", "not YAML: "),
        ("a: 1\na: 2", "the key 'a' is duplicated"),
        ("? [a]\n: 1", "a key must be plain text"),
        ("a: *b", "alias *b has no anchor before it"),
        ("a: &a [*a]", "alias *a has no anchor before it"),
        ("b: &b [1]\na:\n  <<: *b", "<< must have a mapping, or a list of mappings"),
        ("a:\n  <<: 3", "<< must have a mapping, or a list of mappings"),
        ("a: !!python/object:os.system x", "cannot be read as"),
        ("a: !!int x", "'x' cannot be read as int"),
        ("a: " + "9" * 5000, "cannot be read as int"),
        ("a: \0", "not YAML: "),
        (BOMB, "more than 200000 values in one document, including aliases"),
        ("[" * 100, "nested deeper than 64 levels"),
        ("[" * 500_000, "nested deeper than 64 levels"),
        ("a: {" * 100, "nested deeper than 64 levels"),
        ("x" * (MOST_BYTES + 1), "longer than 8 MiB"),
        ("- 1\n" * 300_000, "more than 200000 values in one document, including aliases"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)
def test_what_cannot_be_read_is_reported(text: str, words: str) -> None:
    """Before it takes much time or memory, whatever it is."""
    with pytest.raises(Unreadable) as unreadable:
        list(documents(text))
    assert words in str(unreadable.value)


@given(st.text(alphabet=string.printable + "\0é☃\x85", max_size=200))
def test_no_text_ends_in_a_traceback(text: str) -> None:
    assert outcome(text)


def outcome(text: str) -> bool:
    """Whether a text was read, or refused with a line and a sentence."""
    try:
        list(documents(text))
    except Unreadable as error:
        return error.line >= 1 and bool(str(error))
    return True


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(min_size=1), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text(min_size=1), VALUES, min_size=1, max_size=4))
def test_what_is_written_is_read_back(data: dict[str, Any]) -> None:
    assert only(yaml.safe_dump(data)).data == data
