"""Flags of the user's that the engine does not know, or that blind the guard: refused with flag, cause and way out."""

import pytest
from tests.unit.builders import Body, make_sis, make_spec, make_state

from specdec_command.validation.check import DocumentProblem, check_document
from specdec_command.validation.documents import Document
from specdec_engine.version import IMAGES, NEWEST, OLDEST
from specdec_operator.render.plan import plan

NGRAM: Body = {"method": "ngram", "tokens": 3}


def problems(engine: Body, **spec: object) -> list[DocumentProblem]:
    body = make_sis(speculation=NGRAM, engine=engine, **spec)
    del body["status"]
    return [each for each in check_document(Document(data=body, line=1, lines={})) if each.severity == "refused"]


@pytest.mark.parametrize("accelerator", IMAGES)
@pytest.mark.parametrize(
    ("arg", "rule", "words"),
    [
        ("--no-such-flag=1", "FLAG-UNKNOWN", "has no --no-such-flag"),
        ("--enable-prefix-cachign", "FLAG-UNKNOWN", "but --enable-prefix-caching"),
        ("--swap-space=4", "FLAG-UNKNOWN", "it was last in 0.15.1"),
        ("--disable-log-stats", "GUARD-BLIND", "the pods never become ready"),
        ("--ssl-keyfile=/x", "SERVER-HIDDEN", "HTTP without TLS"),
        ("--api-key=secret", "SERVER-HIDDEN", "VLLM_API_KEY"),
        ("--grpc", "SERVER-HIDDEN", "no /metrics"),
        ("--tokens-only", "SERVER-HIDDEN", "no completions"),
        ("--uds=/run/x", "SERVER-HIDDEN", "cannot reach a server on a socket"),
        ("--headless", "SERVER-HIDDEN", "answers no requests"),
    ],
)
def test_the_engine_of_every_image_refuses_it_by_name(accelerator: str, arg: str, rule: str, words: str) -> None:
    """The operator and the command report the same."""
    (said,) = problems({"accelerator": accelerator, "args": [arg]})
    assert (said.rule, said.path) == (rule, "spec.engine.args")
    assert words in said.message
    spec = make_spec(speculation=NGRAM, engine={"accelerator": accelerator, "args": [arg]})
    assert [each.rule.id for each in plan(spec, make_state(), name="llama").refused] == [rule]


def test_a_key_is_not_repeated() -> None:
    """What is refused is in a status, or in the log of a pipeline."""
    (said,) = problems({"accelerator": "nvidia", "args": ["--api-key=secret"]})
    assert "secret" not in f"{said.value}{said.message}"


def test_more_devices_than_a_pod_may_have_are_refused_with_the_sum() -> None:
    """And so are fewer than the engine is spread over."""
    engine = {"accelerator": "nvidia", "tensorParallelSize": 8, "pipelineParallelSize": 4}
    (said,) = problems(engine)
    assert said.path == "spec.engine.tensorParallelSize"
    assert "tensor 8 x pipeline 4 x data 1 = 32 devices in one pod" in said.message
    two = {"accelerator": "nvidia", "tensorParallelSize": 8, "pipelineParallelSize": 2}
    (said,) = problems(two)
    assert "tensor 8 x pipeline 2 x data 1 = 16 devices in one pod" in said.message
    assert 'request them: spec.resources.limits "nvidia.com/gpu": 16' in said.message
    assert problems(two, resources={"limits": {"nvidia.com/gpu": "16"}}) == []
    assert problems(two | {"accelerator": "ascend"}) == []
    (said,) = problems(two, resources={"limits": {"nvidia.com/gpu": "8"}})
    assert "= 16 devices in one pod, and spec.resources requests 8" in said.message
    assert problems(two, resources={"limits": {"nvidia.com/mig-1g.5gb": "8"}}) == []


@pytest.mark.parametrize("accelerator", IMAGES)
def test_no_version_that_is_known_takes_a_flag_that_no_release_has(accelerator: str) -> None:
    """Also of releases between those that were read."""
    for version in (f"0.{minor}" for minor in range(OLDEST[1], NEWEST[1] + 1)):
        spoken = problems({"accelerator": accelerator, "version": version, "args": ["--no-such-flag=1"]})
        assert "FLAG-UNKNOWN" in {each.rule for each in spoken}, version


def test_a_newer_engine_may_have_the_flag() -> None:
    """What is not known is a warning, and no refusal."""
    newer = {"accelerator": "nvidia", "version": f"0.{NEWEST[1] + 1}", "args": ["--no-such-flag=1"]}
    assert problems(newer) == []
