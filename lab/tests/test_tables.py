"""How an engine's facts about itself become a column of the tables."""

import argparse
import copy
import json
from typing import Any

import pytest

from lab.tables import facts
from lab.tables.__main__ import DATA
from lab.tables.columns import ABOUT, batch_rows, with_column
from lab.tables.difference import differences
from specdec_engine.tables import table

VALUES = {
    "versions": ["0.20.0", "0.30.0"],
    "quantization": {"11": "awq fp8", "10": "gguf", "01": "mxfp4"},
    "kv_cache_dtype": {"11": "auto"},
}
TOLD = {"version": "0.31.0", "values": {"quantization": ["fp8", "mxfp4", "octave"]}}


def quantization(told: dict[str, Any]) -> dict[str, Any]:
    """The cells after the release's column was written."""
    cells: dict[str, Any] = with_column(VALUES, "values", told)["quantization"]
    return cells


def test_a_newer_release_gets_a_digit_behind_the_others() -> None:
    """An existing entry moves to the cell named so, a removed one keeps where it was, a new one begins here."""
    made = with_column(VALUES, "values", TOLD)
    assert made["versions"] == ["0.20.0", "0.30.0", "0.31.0"]
    assert made["quantization"] == {"111": "fp8", "110": "awq", "100": "gguf", "011": "mxfp4", "001": "octave"}


def test_a_release_between_two_gets_its_place_between_them() -> None:
    """Columns are in the order of the releases."""
    made = with_column(VALUES, "values", {**TOLD, "version": "0.25.1"})
    assert made["versions"] == ["0.20.0", "0.25.1", "0.30.0"]
    assert made["quantization"] == {"111": "fp8", "101": "awq", "100": "gguf", "011": "mxfp4", "010": "octave"}


def test_a_release_that_was_read_before_is_read_again() -> None:
    """The command may be run twice, and corrects what it wrote."""
    once = with_column(VALUES, "values", TOLD)
    assert with_column(once, "values", TOLD) == once
    assert quantization({**TOLD, "version": "0.30.0"}) == {"11": "fp8", "10": "awq gguf", "01": "mxfp4 octave"}


def test_what_an_engine_cannot_answer_here_is_as_in_the_release_before() -> None:
    """A list that it does not have at all; a class that wants a library that is missing."""
    assert with_column(VALUES, "values", TOLD)["kv_cache_dtype"] == {"111": "auto"}
    classes = {"versions": ["0.30.0"], "multimodal": {"1": "Seen Unread"}}
    told = {
        "version": "0.31.0",
        "architectures": {"registered": ["Seen", "Unread"], "multimodal": [], "unread": ["Unread"]},
    }
    made = with_column(classes, "architectures", told)
    assert made["multimodal"] == {"11": "Unread", "10": "Seen"}
    assert made["registered"] == {"01": "Seen Unread"}


def test_the_tables_are_as_their_generator_writes_them() -> None:
    """A table that was written by hand looks like no other, and its next column would change all of it."""
    for name, keys in ABOUT.items():
        kept = json.loads((DATA / f"{name}.json").read_text())
        for key, _ in keys:
            read = [entry for cell in kept[key].values() for entry in (cell if isinstance(cell, list) else [cell])]
            assert all(line == " ".join(sorted(line.split())) for line in read), (name, key)


def test_batches_are_kept_by_the_memory_from_which_they_change() -> None:
    """Three devices with equal entries are one row."""
    rows = [{"gib": gib, "tokens": 8192 if gib > 70 else 2048, "requests": 256} for gib in (24, 48, 80, 141)]
    made = batch_rows({"releases": {"0.9.0": []}}, {"version": "0.10.0", "batches": rows})
    assert list(made["releases"]) == ["0.9.0", "0.10.0"]
    assert [row["gib"] for row in made["releases"]["0.10.0"]] == [24, 80]
    assert batch_rows(made, {"version": "0.11.0"}) is made


def test_what_no_generator_can_write_is_reported() -> None:
    """A key and a method that no table has: each wants a row with what it is for."""
    known: dict[str, Any] = {
        "keys": dict.fromkeys(table("fields")["fields"], ""),
        "methods": list(table("methods")["methods"]),
    }
    told = copy.deepcopy(known)
    told["keys"]["brand_new_key"] = "int | None"
    said = differences({"version": "0.33.0", "speculation": told})
    assert any("fields.json, by hand: new:" in line and "brand_new_key" in line for line in said)
    assert any(line.startswith("values/quantization: not told") for line in said)


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ({"action": argparse.BooleanOptionalAction}, "bool"),
        ({"action": "store_true"}, "bool"),
        ({"type": int}, "int"),
        ({"type": float}, "float"),
        ({"type": json.loads}, "json"),
        ({"nargs": "+"}, "list"),
        ({}, ""),
    ],
)
def test_a_flag_is_of_the_kind_that_its_parser_reads(words: dict[str, Any], kind: str) -> None:
    """As argparse has it, which is what the server uses; JSON reads numbers too."""
    action = argparse.ArgumentParser().add_argument("--some-flag", **words)
    assert facts.kind(action) == kind
