"""The workflow files: what can be checked without a run. `make lint` runs actionlint on them."""

import pathlib
import re

import pytest
import yaml
from hack.release import names

ROOT = pathlib.Path(__file__).parents[3]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yaml"))


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_actions_of_others_are_pinned_by_commit(file: pathlib.Path) -> None:
    """A tag may be moved to other code; a commit may not. The version stands beside it."""
    for used in re.findall(r"uses: (.*)", file.read_text()):
        assert re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v[\d.]+", used)


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_a_workflow_may_write_nothing_unless_a_job_declares_it(file: pathlib.Path) -> None:
    """The token of a workflow reads; each job names what it writes."""
    assert yaml.safe_load(file.read_text())["permissions"] == {"contents": "read"}


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_scripts_take_values_from_the_environment(file: pathlib.Path) -> None:
    """An expression inside a script would run the value as code."""
    for job in yaml.safe_load(file.read_text())["jobs"].values():
        assert not [step["run"] for step in job["steps"] if "${{" in step.get("run", "")]


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_make_targets_of_workflows_exist(file: pathlib.Path) -> None:
    """A workflow runs only targets that a developer can run."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"\bmake ([a-z-]+)", file.read_text())) <= targets


def test_each_variable_of_a_release_is_on_the_page_for_who_makes_one() -> None:
    """A fork needs none of them, and finds all of them."""
    workflow, page = ((ROOT / name).read_text() for name in (".github/workflows/release.yaml", "docs/install.md"))
    named = set(re.findall(r"(?:vars|secrets)\.(\w+)", workflow))
    assert named
    assert {each for each in named if f"`{each}`" not in page} == set()


def tree(
    folder: pathlib.Path,
    *,
    version: str = "1.2.3",
    package: str = "1.2.3",
    chart: str = "1.2.3",
    section: str = "1.2.3",
) -> pathlib.Path:
    (folder / "charts" / "specdec-operator").mkdir(parents=True)
    (folder / "operator" / "specdec_operator").mkdir(parents=True)
    (folder / "operator" / "specdec_operator" / "__init__.py").write_text(f'__version__ = "{package}"\n')
    (folder / "pyproject.toml").write_text(f'[project]\nversion = "{version}"\n')
    (folder / "charts" / "specdec-operator" / "Chart.yaml").write_text(f'version: {chart}\nappVersion: "{chart}"\n')
    (folder / "CHANGELOG.md").write_text(
        f"# C\n\n## [Unreleased]\n\n## [{section}] - 2030-01-01\n\n- new\n\n## [0.0.1]\n\n- old\n"
    )
    return folder


def test_a_release_of_one_version_is_let_through(tmp_path: pathlib.Path) -> None:
    """Package, chart and changelog have the tag's version. The notes are that section and no other."""
    root = tree(tmp_path)
    assert names.faults("v1.2.3", root) == []
    assert names.notes("v1.2.3", root) == "- new"


@pytest.mark.parametrize(
    ("tag", "changed", "named"),
    [
        ("v1.2.3", {"version": "1.2.2"}, ["pyproject.toml"]),
        ("v1.2.3", {"package": "1.2.2"}, ["__version__: '1.2.2'"]),
        ("v1.2.3", {"chart": "1.2.2"}, ["version: '1.2.2'", "appVersion: '1.2.2'"]),
        ("v1.2.3", {"section": "1.2.2"}, ["CHANGELOG.md"]),
        ("1.2.3", {}, ["vMAJOR.MINOR.PATCH"]),
    ],
)
def test_a_release_of_two_versions_is_refused(
    tmp_path: pathlib.Path, tag: str, changed: dict[str, str], named: list[str]
) -> None:
    found = names.faults(tag, tree(tmp_path, **changed))
    assert len(found) == len(named)
    assert all(word in sentence for word, sentence in zip(named, found, strict=True))


@pytest.mark.parametrize(
    ("target", "wanted"),
    [
        ("operator", ["specdec-operator:9.9.9"]),
        ("nvidia", [r"specdec-runtime:nvidia-[\d.]+-9.9.9", "specdec-runtime:nvidia-9.9.9"]),
    ],
)
def test_image_names_have_target_engine_and_version(target: str, wanted: list[str]) -> None:
    """As in docs/images.md, with the pin in pyproject.toml, and as the chart requests them."""
    found = names.images(target, "9.9.9")
    assert all(re.fullmatch(name, each) for name, each in zip(wanted, found, strict=True))
