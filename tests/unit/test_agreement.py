"""All tools and pages give the same answer to the same question: which versions, and what the images hold."""

import pathlib
import re
from typing import Any

import pytest
import yaml
from hack.cluster.versions import KSERVE as CLUSTER_KSERVE
from hack.cluster.versions import KUBERNETES as CLUSTER_KUBERNETES
from hack.kserve.versions import SUMS
from typer.testing import CliRunner

from specdec_command.cli.commands import application
from specdec_command.doctor.finding import OLDEST_KSERVE, OLDEST_KUBERNETES
from specdec_command.validation.check import completed
from specdec_engine.accelerators import Accelerator
from specdec_engine.version import IMAGES, NEWEST, OLDEST, PACKAGES, major_minor
from specdec_operator.api.spec import Spec
from specdec_operator.names import KIND
from specdec_operator.staging.compatibility import KSERVE, KUBERNETES, MATRIX, VLLM
from specdec_operator.staging.kserve import shown

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
    """Exit code and the whole output."""
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
    """Of chart and page."""
    oldest = ".".join(map(str, OLDEST_KUBERNETES))
    chart = yaml.safe_load((ROOT / "charts" / "specdec-operator" / "Chart.yaml").read_text())
    assert chart["kubeVersion"] == f">={oldest}.0-0"
    assert f"Kubernetes {oldest} or newer" in page("install.md")


def test_the_oldest_kserve_is_one_answer() -> None:
    """Of two pages."""
    oldest = ".".join(map(str, OLDEST_KSERVE))
    assert f"KServe {oldest} or newer" in page("install.md")
    assert f"| KServe | {oldest} to " in page("versioning.md")


def test_the_matrix_is_one_answer() -> None:
    """Of the file, the engine's tables, the runtime, the tests' own cluster, and what was recorded."""
    assert (VLLM.oldest, VLLM.newest) == (OLDEST, NEWEST)
    assert major_minor(IMAGES["cpu"]) in VLLM.run
    assert major_minor(CLUSTER_KUBERNETES) in KUBERNETES.run
    assert major_minor(CLUSTER_KSERVE) in KSERVE.run
    assert CLUSTER_KSERVE in SUMS
    for part in MATRIX:
        assert min(part.run) >= part.oldest
        assert part.newest is None or max(part.run) <= part.newest
        assert f"| {part.name} | {shown(part.oldest)} " in page("versioning.md")


BEGINS = "`guard.mode` is `Enforce` by default for a service with `spec.model`, and `Observe` for a guest"
FENCED = re.compile(r"```yaml\n(.*?)```", re.DOTALL)
MADE = [*sorted((ROOT / "manifests" / "samples").glob("*.yaml")), ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]


def services(path: pathlib.Path) -> list[dict[str, Any]]:
    """The services that a file shows: a manifest's, and those in a page's YAML."""
    text = path.read_text()
    parts = FENCED.findall(text) if path.suffix == ".md" else [text]
    found = (each for part in parts if "{{" not in part for each in yaml.safe_load_all(part))
    return [each for each in found if isinstance(each, dict) and each.get("kind") == KIND]


def mode(service: dict[str, Any]) -> str:
    """How the guard of a service begins: as the API server completes it, and the operator reads it."""
    whole, refused = completed(service)
    assert not refused, refused
    return str(Spec.model_validate(whole["spec"]).guard.mode)


def test_what_the_operator_makes_begins_with_enforce_and_what_it_only_guards_with_observe() -> None:
    """In every sample and page. Design promise 1: a draft that does not pay is taken out by itself."""
    for path, service in ((each, service) for each in MADE for service in services(each)):
        guests = {"inferenceServiceRef", "deploymentRef"} & service["spec"].keys()
        assert mode(service) == ("Observe" if guests else "Enforce"), (path, service["metadata"]["name"])


def test_samples_and_readme_show_services() -> None:
    """Else the rule above would ask nothing."""
    assert all(services(path) for path in (ROOT / "manifests" / "samples").glob("*.yaml"))
    assert services(ROOT / "README.md")
    assert services(ROOT / "docs" / "guests.md")


def test_what_the_command_writes_begins_in_the_same_way() -> None:
    """recommend and import write services of the operator's; guard writes one that only guards."""
    recommended = specdec("recommend", "Qwen/Qwen3-8B", "--draft", "hf://x/head", "--draft-kind", "eagle3")[1]
    imported = CliRunner().invoke(application(), ["import", "--speculative-config", SUFFIX]).stdout
    assert mode(yaml.safe_load(recommended.partition("\n---\n")[2])) == "Enforce"
    assert mode(yaml.safe_load(imported)) == "Enforce"
    assert mode(yaml.safe_load(specdec("guard", "isvc/llama", "-n", "team-a")[1])) == "Observe"


@pytest.mark.parametrize(
    "path", [ROOT / "README.md", *(ROOT / "docs" / f"{name}.md" for name in ("guard", "tour", "guests"))]
)
def test_every_page_about_the_beginning_has_the_same_advice(path: pathlib.Path) -> None:
    """One sentence, word for word."""
    assert BEGINS in " ".join(path.read_text().split())
