"""How a pod stops: the settings of its engine, its hook and the kubelet."""

from typing import Any

import pytest
from tests.unit.builders import make_spec, make_state

from specdec_operator.api.spec import Owner
from specdec_operator.render.inference_service import render, stopping_flags
from specdec_operator.render.plan import plan


@pytest.mark.parametrize(
    ("engine", "told"),
    [
        ({"version": "0.17.0"}, ()),
        ({"version": "0.18.0"}, ("--shutdown-timeout=50",)),
        ({}, ("--shutdown-timeout=50",)),
        ({"accelerator": "ascend", "version": "0.17.0"}, ()),
        ({"image": "docker.io/vllm/vllm-openai:v0.15.1"}, ()),
        ({"image": "mirror.example:5000/vllm/vllm-openai:v0.18.0-cu128"}, ("--shutdown-timeout=50",)),
        ({"args": ["--shutdown-timeout=5"]}, ()),
        ({"args": ["--shutdown_timeout", "5"]}, ()),
        ({"args": ["--shutdown-timeouts=5"]}, ("--shutdown-timeout=50",)),
    ],
)
def test_an_engine_that_can_finish_its_requests_gets_a_time_limit(
    engine: dict[str, Any], told: tuple[str, ...]
) -> None:
    """vLLM has the flag since 0.18; an older one would not start with it. Who writes it has their own way."""
    spec = make_spec(engine=engine)
    build = plan(spec, make_state(), name="llama").build
    assert stopping_flags(build, spec.engine, spec.rollout) == told


@pytest.mark.parametrize(("asked", "whole", "enough"), [({}, 60, 50), ({"grace": "10m"}, 600, 590)])
def test_hook_engine_and_kubelet_share_one_grace_period(asked: dict[str, Any], whole: int, enough: int) -> None:
    """Ten seconds of it are kept for the end of the engine's processes."""
    served = plan(make_spec(rollout=asked), make_state(), name="llama")
    owner = Owner(name="llama", namespace="team-a", uid="u-1")
    predictor = render(served, owner).manifest["spec"]["predictor"]
    assert predictor["terminationGracePeriodSeconds"] == whole
    assert predictor["model"]["lifecycle"]["preStop"]["exec"]["command"][-1] == f"--timeout={enough}"
    assert f"--shutdown-timeout={enough}" in predictor["model"]["args"]
