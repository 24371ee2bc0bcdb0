"""When speculation is the wrong lever, whatever the method."""

import re
from typing import Any

import pytest

from specdec_command.advice.catalogue import Band, PodLoad
from specdec_command.advice.estimate import under
from specdec_command.advice.request import AdviceRequest, Use
from specdec_command.advice.unsuitable import unsuitable

_SMALL = {"hidden_size": 1024, "num_hidden_layers": 28, "num_attention_heads": 16, "vocab_size": 151936}
_LARGE = {"hidden_size": 4096, "num_hidden_layers": 36, "num_attention_heads": 32, "vocab_size": 151936}
_REWARD = {"architectures": ["Qwen2ForRewardModel"], "model_type": "qwen2"}
_ENCODER = {"architectures": ["BertModel"], "model_type": "bert"}
_CLASSIFIER = {"architectures": ["LlamaForSequenceClassification"], "model_type": "llama"}


def _said(**given: Any) -> str:
    return "; ".join(each.says for each in unsuitable(AdviceRequest(name="asked", **given)))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"config": _ENCODER}, "BertModel generates no text"),
        ({"config": _CLASSIFIER}, "LlamaForSequenceClassification generates no text"),
        ({"config": _REWARD}, "Qwen2ForRewardModel generates no text"),
        ({"answer_tokens": 1}, "answers of 1 tokens are too short"),
        ({"answer_tokens": 8}, "answers of 8 tokens"),
        ({"prompt_tokens": 20_000, "answer_tokens": 200}, "20000 prompt tokens for 200 answer tokens"),
        ({"config": _SMALL}, "million parameters"),
        ({"uses": frozenset({Use.MIN_P, Use.LOGIT_BIAS})}, "clients send logit_bias and min_p: .* HTTP 400"),
        ({"uses": frozenset({Use.MIN_P}), "version": "0.13.0"}, "ignores them without an error"),
        ({"uses": frozenset({Use.MIN_TOKENS}), "version": "0.15.1"}, "clients send min_tokens"),
        ({"uses": frozenset({Use.LOGITS_PROCESSORS})}, "does not start with both"),
        ({"uses": frozenset({Use.STRUCTURED_OUTPUT})}, "most answers follow a grammar"),
    ],
)
def test_warnings_against_speculation(given: dict[str, Any], said: str) -> None:
    """Each warning has the message that the user reads."""
    assert re.search(said, _said(**given)), _said(**given)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"config": {}},
        {"config": _LARGE},
        {"config": _SMALL, "accelerator": "cpu"},
        {"answer_tokens": 9},
        {"prompt_tokens": 20_000},
        {"prompt_tokens": 19_999, "answer_tokens": 200},
        {"uses": frozenset({Use.MIN_TOKENS})},
        {"uses": frozenset({Use.MIN_TOKENS}), "version": "0.13.0"},
        {"config": {"architectures": "nonsense", "model_type": 7}},
    ],
)
def test_settings_without_a_warning(given: dict[str, Any]) -> None:
    """The other side of each boundary. An unknown value causes no warning."""
    assert _said(**given) == ""


@pytest.mark.parametrize(
    ("load", "band", "low", "high"),
    [
        (PodLoad.FEW, Band(1.2, 3.0), 1.2, 3.0),
        (PodLoad.SOME, Band(1.2, 3.0), 1.1, 2.0),
        (PodLoad.MANY, Band(1.2, 3.0), 0.7, 1.5),
        (PodLoad.SOME, Band(0.8, 1.2), 0.8, 1.1),  # what is slower alone is slower in company
    ],
)
def test_gains_shrink_with_the_load_and_losses_do_not(load: PodLoad, band: Band, low: float, high: float) -> None:
    found = under(load, band)
    assert (found.low, found.high) == (pytest.approx(low), pytest.approx(high))


@pytest.mark.parametrize(
    ("concurrency", "load"),
    [(1, PodLoad.FEW), (8, PodLoad.FEW), (9, PodLoad.SOME), (31, PodLoad.SOME), (32, PodLoad.MANY)],
)
def test_loads_by_the_number_of_requests(concurrency: int, load: PodLoad) -> None:
    assert AdviceRequest(name="asked", concurrency=concurrency).load is load
