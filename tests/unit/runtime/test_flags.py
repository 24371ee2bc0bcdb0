"""specdec_runtime.flags: plain vLLM flags in, what concerns the models out."""

import json

import pytest

from specdec_runtime import flags, refusal

SPECULATION = {"method": "draft_model", "model": "/mnt/draft/model", "num_speculative_tokens": 4}
TEXT = json.dumps(SPECULATION)


@pytest.mark.parametrize(
    "words",
    [
        ["--model=/m", f"--speculative-config={TEXT}", "--port=8080"],
        ["--model", "/m", "--speculative-config", TEXT, "--port", "8080"],
        ["--enforce-eager", "--model", "/m", "-sc", TEXT, "--port=1", "--port=8080"],
        ["--model=/m", f"--speculative_config={TEXT}", "--port", "8080", "--enforce-eager"],
        ["--model=/m", "--port=8080", *(f"--speculative-config.{key}={value}" for key, value in SPECULATION.items())],
        ["--model=/m", "--port=8080", "--spec-method=draft_model", "--spec-model=/mnt/draft/model", "--spec-tokens=4"],
    ],
    ids=["equals", "separate", "short and repeated", "underscores", "dotted keys", "flags of their own"],
)
def test_every_spelling_reads_the_same(words: list[str]) -> None:
    read = flags.read(words)
    assert (read.model, read.speculation, read.port) == ("/m", SPECULATION, 8080)
    assert (read.method, read.draft) == ("draft_model", "/mnt/draft/model")


def test_what_is_not_given_is_absent() -> None:
    read = flags.read(["--model=/m"])
    assert (read.speculation, read.method, read.draft) == (None, None, None)
    assert (read.port, read.max_model_len, read.load_format) == (8000, None, "auto")


@pytest.mark.parametrize(
    ("method", "model"),
    [("ngram", "[ngram]"), ("ngram_gpu", "ngram_gpu"), ("suffix", "suffix"), ("custom_class", "drafters.Last")],
)
def test_a_model_that_is_a_keyword_is_not_a_draft(method: str, model: str) -> None:
    """The engine takes keywords of its own there, or the name of a class."""
    assert flags.read(["--model=/m", "-sc", json.dumps({"method": method, "model": model})]).draft is None


def test_what_decides_of_devices_and_sampling_is_read() -> None:
    """Short names and underscores as vLLM takes them."""
    words = ["-tp=2", "--pipeline_parallel_size", "3", "-q", "fp8", "--dtype=float16", "--cpu-offload-gb=4"]
    more = ["--generation-config=vllm", '--override-generation-config={"min_p":0.1}', "--gpu-memory-utilization=0.5"]
    read = flags.read(["--model=/m", *words, *more])
    assert (read.tensor_parallel, read.pipeline_parallel, read.quantization, read.dtype) == (2, 3, "fp8", "float16")
    assert (read.generation_config, read.sampling, read.utilization) == ("vllm", {"min_p": 0.1}, 0.5)
    assert read.spreads


@pytest.mark.parametrize("word", ["--enable-expert-parallel", "--data-parallel-size=8", "-dp=8", "--enable_eplb"])
def test_experts_may_be_on_more_devices_than_tensor_parallelism_sets(word: str) -> None:
    """A model of experts that is larger than its tensor-parallel devices is then no fault."""
    assert flags.read(["--model=/m", word]).spreads
    assert not flags.read(["--model=/m", "--tensor-parallel-size=8"]).spreads


@pytest.mark.parametrize("word", ["--override-generation-config={", "--gpu-memory-utilization=most"])
def test_what_vllm_will_complain_of_is_left_to_it(word: str) -> None:
    """These flags are read for a figure or two; vLLM has the words for the rest."""
    read = flags.read(["--model=/m", word])
    assert (read.sampling, read.utilization) == ({}, 0.9)


@pytest.mark.parametrize(
    ("words", "reason", "field"),
    [
        ([], "ModelNotNamed", "--model"),
        (["--model="], "ModelNotNamed", "--model"),
        (["--model=/m", "--port=http"], "FlagInvalid", "--port"),
        (["--model=/m", "--max-model-len=long"], "FlagInvalid", "--max-model-len"),
        (["--model=/m", "--speculative-config={"], "SpeculativeConfigInvalid", "--speculative-config"),
        (["--model=/m", "--speculative-config=[]"], "SpeculativeConfigInvalid", "--speculative-config"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_flag(words: list[str], reason: str, field: str) -> None:
    with pytest.raises(refusal.RefusedError) as caught:
        flags.read(words)
    assert (caught.value.refusal.reason, caught.value.refusal.field) == (reason, field)
