"""All tools and pages give the same answer to the same question: which versions, and what the images hold."""

import pathlib
import re

import pytest
import yaml
from typer.testing import CliRunner

from specdec_engine.accelerators import Accelerator
from specdec_operator.cli.commands import application
from specdec_operator.doctor.finding import OLDEST_KSERVE, OLDEST_KUBERNETES
from specdec_operator.engine.version import PACKAGES

ROOT = pathlib.Path(__file__).parents[2]
SUFFIX = '{"method":"suffix","num_speculative_tokens":16}'
SERVICE = """\
apiVersion: serving.specdec.io/v1alpha1
kind: SpeculativeInferenceService
metadata: {name: asked}
spec:
  model: {uri: "pvc://models/target"}
  engine: {accelerator: ACCELERATOR}
  speculation: {method: suffix, tokens: 16}
"""


def specdec(*words: str, text: str | None = None) -> tuple[int, str]:
    """Exit code and all that was said."""
    result = CliRunner().invoke(application(), list(words), input=text)
    return result.exit_code, result.output


def page(name: str) -> str:
    """A page of the docs, as one line."""
    return " ".join((ROOT / "docs" / name).read_text().split())


@pytest.mark.parametrize("accelerator", [each.value for each in Accelerator])
def test_whether_suffix_can_run_is_one_answer(accelerator: str) -> None:
    """The package that it needs is in the image, or it is not: validate, import and recommend know the same."""
    has = "arctic_inference" in PACKAGES[accelerator]
    _, validated = specdec("validate", "-", text=SERVICE.replace("ACCELERATOR", accelerator))
    _, imported = specdec("import", "--accelerator", accelerator, "--speculative-config", SUFFIX)
    recommended = specdec("recommend", "Qwen/Qwen3-8B", "--accelerator", accelerator)[1]
    assert ["SUFFIX-PACKAGE" in each for each in (validated, imported)] == [not has] * 2
    assert not has or "arctic-inference" not in recommended


def test_the_oldest_kubernetes_is_one_answer() -> None:
    """Of doctor, chart and page."""
    oldest = ".".join(map(str, OLDEST_KUBERNETES))
    chart = yaml.safe_load((ROOT / "charts" / "specdec-operator" / "Chart.yaml").read_text())
    assert chart["kubeVersion"] == f">={oldest}.0-0"
    assert f"Kubernetes {oldest} or newer" in page("install.md")
    assert f"Kubernetes is older than {oldest}" in page("doctor.md")


def test_the_oldest_kserve_is_one_answer() -> None:
    """Of doctor and pages."""
    oldest = ".".join(map(str, OLDEST_KSERVE))
    assert f"KServe {oldest} or newer" in page("install.md")
    assert re.search(rf"KServe {oldest} to \d+\.\d+", page("versioning.md"))
    assert f"KServe is older than {oldest}" in page("doctor.md")
