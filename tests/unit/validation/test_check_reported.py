"""Specs of public reports and guides: what validate finds in each, and the flags that are rendered."""

import pathlib
from typing import Any

import pytest
import yaml
from tests.unit.engine.cases import KINDS

from specdec_command.cli.render import Rendering, rendering
from specdec_command.validation.check import DocumentProblem, check_document
from specdec_command.validation.documents import documents
from specdec_engine.case import ModelFolderFacts
from specdec_engine.rule import Severity

FILE = pathlib.Path(__file__).with_name("reported.yaml")
BY_NAME = {each.data["metadata"]["name"]: each for each in documents(FILE.read_text())}


def found(name: str) -> dict[str, DocumentProblem]:
    """The problems by their rules."""
    return {each.rule: each for each in check_document(BY_NAME[name])}


def made(name: str, **known: Any) -> Rendering:
    return rendering(yaml.safe_load(yaml.safe_dump(BY_NAME[name].data)), **known)


def container(name: str) -> Any:
    return made(name).manifest["spec"]["predictor"]["model"]


@pytest.mark.parametrize(
    ("name", "rule", "severity", "words"),
    [
        ("dead-key", "KEY-DEAD", Severity.WARNED, "tokensByBatchSize"),
        ("head-behind-a-pipeline", "PP-DRAFT", Severity.REFUSED, "heads of eagle do not run with pipeline parallelism"),
        ("sizes-below-one-request", "GRAPH-START", Severity.REFUSED, "one request needs 5"),
        ("unused-draft-split", "DRAFT-TP-UNUSED", Severity.NOTED, "target's 4 devices"),
        ("version-without-image", "IMAGE-OF-VERSION", Severity.WARNED, "has 0.33.0, so the pods run docker.io/vllm/"),
        ("graph-coverage", "GRAPH-COVERAGE", Severity.WARNED, "above 8 requests"),
        ("mtp-prefix-hybrid", "MTP-PREFIX", Severity.WARNED, "vLLM issue 53912"),
        ("share-lowered-already", "MEMORY-SHARE-TWICE", Severity.WARNED, "lowers it to 0.75"),
        ("embeddings", "POOLING", Severity.WARNED, "Qwen3-Embedding-8B generates no tokens"),
        ("medusa-with-a-schedule", "SCHEDULE-MEDUSA", Severity.REFUSED, "remove the schedule"),
        ("draft-model-with-a-schedule", "SCHEDULE-UNREAD", Severity.WARNED, "drafts all 3 tokens"),
    ],
)
def test_what_is_found(name: str, rule: str, severity: Severity, words: str) -> None:
    problem = found(name)[rule]
    assert problem.severity is severity
    assert words in problem.message


@pytest.mark.parametrize(
    "name",
    [
        *("tag-without-version", "first-npu-mtp", "four-requests-on-npus", "verification-beside-other-keys"),
        *("version-without-image", "own-compilation-config", "mtp-prefix-hybrid", "graph-coverage"),
        *("match-of-one-token", "share-of-the-default"),
    ],
)
def test_what_runs_is_not_refused(name: str) -> None:
    assert not [each for each in found(name).values() if each.severity is Severity.REFUSED]
    assert made(name).flags


@pytest.mark.parametrize(
    ("name", "flag"),
    [
        ("four-requests-on-npus", '--compilation-config={"cudagraph_capture_sizes":[5,10,15,20]}'),
        (
            "own-compilation-config",
            '--compilation-config={"cudagraph_capture_sizes":[3,6,9,12,18,24,30],"cudagraph_mode":"FULL_DECODE_ONLY"}',
        ),
        (
            "match-of-one-token",
            '--speculative-config={"method":"ngram","num_speculative_tokens":3,"prompt_lookup_max":1,'
            '"prompt_lookup_min":1}',
        ),
        ("first-npu-mtp", '--speculative-config={"method":"deepseek_mtp","num_speculative_tokens":2}'),
    ],
)
def test_the_flags_are_those_of_the_guides(name: str, flag: str) -> None:
    args = container(name)["args"]
    assert flag in args
    assert sum(each.startswith(flag.partition("=")[0]) for each in args) == 1


def test_verification_is_merged_with_the_other_keys_of_its_flag() -> None:
    (flag,) = (each for each in container("verification-beside-other-keys")["args"] if "additional-config" in each)
    value = yaml.safe_load(flag.partition("=")[2])
    assert value["torchair_graph_config"] == {"enabled": False}
    assert value["rejection_sampler_config"]["enable_block_verify"] is True


@pytest.mark.parametrize(
    ("name", "engine", "image"),
    [
        ("tag-without-version", "vllm 0.15.1", "docker.io/vllm/vllm-openai:v0.15.1"),
        ("version-without-image", "vllm 0.19.1", "docker.io/vllm/vllm-openai:v0.19.1"),
        ("first-npu-mtp", "vllm-ascend 0.11.0", "quay.io/ascend/vllm-ascend:v0.11.0"),
    ],
)
def test_flags_and_image_are_of_one_version(name: str, engine: str, image: str) -> None:
    """vLLM has --shutdown-timeout since 0.18."""
    assert made(name).engine == engine
    assert container(name)["image"] == image
    knows = engine == "vllm 0.19.1"
    assert any(each.startswith("--shutdown-timeout") for each in container(name)["args"]) is knows


def test_models_that_are_known_add_their_warnings() -> None:
    """Nothing is known of the heads without the target's config."""
    target = ModelFolderFacts(path="/t", config=KINDS["ds3-n1"] | {"num_attention_heads": 128})
    assert "K-REPEATS" not in found("repeated-heads")
    assert "K-REPEATS" in {each.rule.id for each in made("repeated-heads", target=target).warnings}


def test_a_share_that_has_room_above_it_is_lowered_without_a_warning() -> None:
    """0.9 is almost the engine's default, so it leaves no room for a draft. And what is lowered is shown by render."""
    assert "MEMORY-SHARE-TWICE" not in found("share-of-the-default")
    assert "--gpu-memory-utilization=0.85" in made("share-of-the-default").flags
