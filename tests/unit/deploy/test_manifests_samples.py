"""A sample for every method on every accelerator that runs it. If a pair has no sample, a rule has the reason."""

import pathlib
import re
from typing import Any, Final

import pytest
import yaml

from specdec_command.cli import validate
from specdec_engine.accelerators import Accelerator
from specdec_engine.rule import Severity
from specdec_operator.api.speculation import Method

FOLDER: Final = pathlib.Path(__file__).parents[3] / "manifests" / "samples"
PAIRS: Final = [(accelerator, method) for accelerator in Accelerator for method in Method]


def file(accelerator: Accelerator, method: Method) -> pathlib.Path:
    return FOLDER / f"{accelerator}-{method.replace('_', '-')}.yaml"


OTHERS: Final = {path.name for path in FOLDER.glob("*.yaml")} - {file(*pair).name for pair in PAIRS}
"""Samples of something else than a method."""


def refusals(text: str) -> list[str]:
    """What `specdec validate` refuses in a text, by the rules' names."""
    report = validate.report("sample", text, "")
    assert not report.unreadable
    assert report.services == 1
    return [str(each.rule) for each in report.problems if each.severity is Severity.REFUSED]


def tried(accelerator: Accelerator, method: Method) -> str:
    """A sis of a pair that has no sample: that of another accelerator with this method, or of another method."""
    others = [file(each, method) for each in Accelerator if file(each, method).exists()]
    document: dict[str, Any] = yaml.safe_load((others or [file(accelerator, Method.EAGLE3)])[0].read_text())
    document["spec"]["engine"]["accelerator"] = accelerator.value
    document["spec"]["speculation"]["method"] = method.value
    return yaml.safe_dump(document)


@pytest.mark.parametrize(("accelerator", "method"), PAIRS)
def test_each_pair_has_a_sample_or_a_rule_against_it(accelerator: Accelerator, method: Method) -> None:
    """A method that a newer image brings, or drops, is a sample that is missing, or one too many."""
    path = file(accelerator, method)
    if not path.exists():
        assert refusals(tried(accelerator, method)), f"{path.name} is missing, and no rule refuses it"
        return
    document = yaml.safe_load(path.read_text())
    assert document["spec"]["engine"]["accelerator"] == accelerator.value
    assert document["spec"]["speculation"]["method"] == method.value
    assert refusals(path.read_text()) == []


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yaml")), ids=lambda each: str(each.stem))
def test_a_sample_states_what_to_expect_and_names_a_revision(path: pathlib.Path) -> None:
    """A comment at the top; models of a hub have a name and a revision, so `main` is a visible choice."""
    text = path.read_text()
    assert text.startswith("# ")
    for uri in re.findall(r"uri: (hf://\S+)", text):
        assert re.fullmatch(r"hf://[\w.-]+/[\w.-]+:[\w.-]+", uri), uri


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yaml")), ids=lambda each: str(each.stem))
def test_no_rule_refuses_a_sample(path: pathlib.Path) -> None:
    """Samples that do not belong to a pair pass as well."""
    assert refusals(path.read_text()) == []


def test_the_first_sample_is_the_readmes() -> None:
    """Identical text, so the user does not have to copy it from the page."""
    (block,) = re.findall(r"```yaml\n(.*?)```", (FOLDER.parents[1] / "README.md").read_text(), re.DOTALL)
    lines = (FOLDER / "qwen3-8b.yaml").read_text().splitlines(keepends=True)
    assert "".join(line for line in lines if not line.startswith("#")) == block


def test_the_index_names_every_sample_to_start_from() -> None:
    """In docs/start.md, each with a link; those of `make demo` are on the demo's page."""
    linked = re.findall(r"\(\.\./manifests/samples/([\w.-]+)\)", (FOLDER.parents[1] / "docs" / "start.md").read_text())
    assert OTHERS - {"demo-plain.yaml", "demo-speculative.yaml"} <= {*linked}
    assert [name for name in linked if not (FOLDER / name).exists()] == []
