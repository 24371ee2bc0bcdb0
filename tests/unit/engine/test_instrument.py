"""How specdec_runtime comes into a pod, by what the spec names."""

from typing import Any

import pytest

from specdec_engine.rule import Severity
from specdec_operator.engine.instrument import findings, instrumented

OPERATOR = "registry.example/specdec-operator:1"
STOCK = "docker.io/vllm/vllm-openai:v0.22.0"


def how(*, operator_image: str = OPERATOR, prepared: bool = False, **engine: Any) -> tuple[str, str]:
    """What is done for an engine, and the reason that a condition gives."""
    found = instrumented(engine, runtimes=("ours",), operator_image=operator_image, prepared=prepared)
    return found.how.value, found.reason


@pytest.mark.parametrize(
    ("engine", "expected"),
    [
        ({}, ("Image", "")),
        ({"runtime": "specdec-nvidia"}, ("Image", "")),
        ({"runtime": "specdec-nvidia-0a1b2c3d"}, ("Image", "")),
        ({"runtime": "ours"}, ("Image", "")),
        ({"image": "registry.example:5000/team/specdec-runtime:nvidia-0.1.0@sha256:ab"}, ("Image", "")),
        ({"image": "specdec-runtime"}, ("Image", "")),
        ({"image": STOCK}, ("Inject", "Injected")),
        ({"image": STOCK, "runtime": "ours"}, ("Inject", "Injected")),
        ({"image": "quay.io/ascend/vllm-ascend:v0.23.0"}, ("Inject", "Injected")),
        ({"image": "registry.example/specdec-runtime/vllm:1"}, ("Inject", "Injected")),
        ({"runtime": "specdec-nvidia-mine"}, ("None", "ForeignRuntime")),
        ({"runtime": "platform-vllm"}, ("None", "ForeignRuntime")),
        ({"runtime": "platform-vllm", "image": STOCK}, ("None", "ForeignRuntime")),
        ({"runtime": "platform-vllm", "image": "r/specdec-runtime:1"}, ("Image", "")),
    ],
)
def test_auto_goes_by_the_names_of_image_and_runtime(engine: dict[str, Any], expected: tuple[str, str]) -> None:
    """Ours have it, another image gets it, another runtime goes without."""
    assert how(**engine) == expected


def test_a_runtime_that_is_seen_to_start_it_has_it() -> None:
    """A runtime that a user built on ours: nothing about its pods changes."""
    assert how(runtime="platform-vllm", prepared=True) == ("Image", "")


@pytest.mark.parametrize("asked", ["Image", "Inject", "None"])
@pytest.mark.parametrize("engine", [{}, {"image": STOCK}, {"runtime": "platform-vllm"}])
def test_the_requested_way_is_used(asked: str, engine: dict[str, Any]) -> None:
    """A user who knows better sets it."""
    assert how(instrument=asked, **engine)[0] == asked


@pytest.mark.parametrize("engine", [{"image": STOCK}, {"instrument": "Inject"}])
def test_nothing_is_injected_by_an_operator_that_does_not_know_its_image(engine: dict[str, Any]) -> None:
    """An init container without an image would keep the pods from starting."""
    assert how(operator_image="", **engine) == ("None", "OperatorImageUnknown")
    assert "SPECDEC_IMAGE" in instrumented(engine).message


def test_the_severity_of_a_finding_depends_on_the_loss() -> None:
    """A note if the user requested the loss, or if the pods have the feature in another
    way. A warning for any other loss.
    """

    def said(**engine: Any) -> list[Severity]:
        found = instrumented(engine, operator_image=OPERATOR)
        return [each.rule.severity for each in findings(engine, found)]

    assert said() == []
    assert said(instrument="Image", image=STOCK) == []
    assert said(image=STOCK) == [Severity.NOTED]
    assert said(image=STOCK, instrument="None") == [Severity.NOTED]
    assert said(runtime="platform-vllm") == [Severity.WARNED]
