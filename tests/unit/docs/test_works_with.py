"""docs/works-with.md: every question has an answer, every yes has a test that exists, and its statements hold."""

import pathlib
import re

import pytest
from lab.verdicts.features import FEATURES, counts

ROOT = pathlib.Path(__file__).parents[3]
PAGE = ROOT / "docs" / "works-with.md"
ANSWERS = ("yes", "in part", "not tried", "no")
ASKED = (
    *("Istio", "Linkerd", "Knative", "Kueue", "KEDA", "HPA", "Gateway API", "InferencePool", "LLMInferenceService"),
    *("OpenShift AI", "LeaderWorkerSet", "air gap", "LoRA", "Quantised", "Vision", "Prefix caching", "Chunked prefill"),
    *("Prefill and decode", "Several nodes", "AMD", "Intel", "TPU"),
)
"""What people ask."""
LINK = re.compile(r"\]\(([^)#]+)")


def rows() -> list[tuple[str, str, str]]:
    cells = [[each.strip() for each in line.strip("|").split("|")] for line in PAGE.read_text().splitlines()]
    return [(row[0], row[1], row[2]) for row in cells if len(row) == 3 and row[1] in ANSWERS]


@pytest.mark.parametrize("asked", ASKED)
def test_what_people_ask_has_one_answer(asked: str) -> None:
    assert len([question for question, _, _ in rows() if asked in question]) == 1


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_an_answer_has_its_reason(row: tuple[str, str, str]) -> None:
    """A yes links a test or a page of this project, and every link exists. The other answers
    have a reason, or what to check.
    """
    _, answer, why = row
    links = LINK.findall(why)
    assert answer != "yes" or links
    assert len(why) >= 20
    for link in links:
        assert (PAGE.parent / link).exists(), link


def test_configurations_with_each_feature_are_judged_as_the_engine_does() -> None:
    """The numbers of the table. A feature without a recording would prove nothing."""
    found = counts()
    assert found.keys() == FEATURES.keys()
    for name, count in found.items():
        assert count.judged > 100, name
        assert 0 < count.accepted < count.judged, name
        assert count.alike / count.judged >= 0.99, name
