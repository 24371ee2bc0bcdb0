"""What takes memory, and which of it each engine counts against its own budget."""

from dataclasses import replace

import pytest
from tests.unit.engine import memory_models as models

from specdec_engine.memory.inputs import GIB, MemoryInputs
from specdec_engine.memory.terms import Item, fixed_terms, graphs_counted, verification_logits
from specdec_engine.model_runner import Runner
from specdec_engine.version import Build, Flavor, Version

COUNTS = "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS"


@pytest.mark.parametrize(
    ("engine", "runner", "variable", "counted"),
    [
        ("vllm 0.11.2", Runner.V1, None, False),
        ("vllm 0.17.1", Runner.V1, "1", False),  # the variable is not known yet
        ("vllm 0.18.0", Runner.V1, None, False),
        ("vllm 0.18.1", Runner.V1, "1", True),
        ("vllm 0.19.1", Runner.V1, None, False),
        ("vllm 0.19.1", Runner.V1, "1", True),
        ("vllm 0.20.0", Runner.V1, None, True),
        ("vllm 0.20.2", Runner.V1, "0", False),
        ("vllm 0.33.0", Runner.V1, None, True),
        ("vllm 0.20.0", Runner.V2, None, False),
        ("vllm 0.28.0", Runner.V2, None, False),
        ("vllm 0.28.1", Runner.V2, "1", False),  # its estimate is 0 whatever is asked
        ("vllm 0.29.0", Runner.V2, None, True),
        ("vllm 0.33.0", Runner.V2, "0", False),
        ("vllm-ascend 0.18.0", Runner.V1, None, False),
        ("vllm-ascend 0.20.2rc1", Runner.V1, None, False),
        ("vllm-ascend 0.21.0rc1", Runner.V1, None, True),
        ("vllm-ascend 0.22.1rc1", Runner.V1, None, True),
        ("vllm-ascend 0.23.0", Runner.V1, None, False),
        ("vllm-ascend 0.25.1rc1", Runner.V1, "1", False),
    ],
)
def test_graphs_are_counted_by_version_runner_and_accelerator(
    engine: str, runner: Runner, variable: str | None, counted: bool
) -> None:
    env = {} if variable is None else {COUNTS: variable}
    asked = replace(models.ask(engine, env=env), runner=runner)
    assert graphs_counted(asked)[0] is counted
    graphs = {term.name: term for term in fixed_terms(asked)}[Item.GRAPHS]
    assert graphs.counted is counted
    assert graphs.estimated


@pytest.mark.parametrize(("plugin", "counted"), [("0.20.2", False), ("0.22.1", True)])
def test_an_npu_goes_by_its_plug_in_and_not_by_the_vllm_inside(plugin: str, counted: bool) -> None:
    build = Build(Flavor.VLLM_ASCEND, Version(0, 30), Version.parse(plugin))
    asked = models.ask()
    assert graphs_counted(replace(asked, case=replace(asked.case, build=build), runner=Runner.V1))[0] is counted


def test_an_eager_engine_has_no_graphs() -> None:
    assert Item.GRAPHS not in {term.name for term in fixed_terms(models.ask(enforce_eager=True))}


@pytest.mark.parametrize(
    ("engine", "runner", "seqs", "tokens", "args", "size"),
    [
        # 256 x (4 - 1) x 152 000 x (2 + 8) bytes: 1.17 GB
        ("vllm 0.20.2", Runner.V1, 256, 4, {}, 1_167_360_000),
        # 1024 x (8 - 1) x 152 000 x 10: 10.9 GB
        ("vllm 0.32.0", Runner.V1, 1024, 8, {}, 10_895_360_000),
        ("vllm 0.32.0", Runner.V1, 256, 1, {}, 0),  # no more than was profiled
        # 256 x 4 x 152 000 x 2, and 4 bytes of the same, which is less than a chunk of 1 GiB
        ("vllm 0.28.0", Runner.V2, 256, 4, {}, 311_296_000 + 622_592_000),
        # 1024 x 8 x 152 000 x 2, and one chunk
        ("vllm 0.28.0", Runner.V2, 1024, 8, {}, 2_490_368_000 + GIB),
        ("vllm 0.27.0", Runner.V2, 1024, 8, {}, 2_490_368_000 + 4_980_736_000),  # chunks are not known yet
        ("vllm-ascend 0.23.0", Runner.V1, 256, 4, {}, 1_167_360_000),
        ("vllm 0.20.2", Runner.V1, 256, 4, {"tensor_parallel_size": 8}, 1_167_360_000),  # no part of them is elsewhere
        # 1024 requests x 9 tokens would be 9216 rows; 8192 are scheduled, of which 2048 were profiled
        ("vllm 0.32.0", Runner.V1, 1024, 8, {"max_num_batched_tokens": 8192}, 6144 * 152_000 * 10),
        ("vllm 0.32.0", Runner.V1, 256, 4, {"method": None}, 0),
    ],
)
def test_the_logits_that_no_engine_profiles(
    engine: str, runner: Runner, seqs: int, tokens: int, args: models.Config, size: int
) -> None:
    """For a vocabulary of 152 000 words."""
    target = models.LLAMA_8B | {"vocab_size": 152_000}
    asked = models.ask(engine, target, tokens=tokens, max_num_seqs=seqs, **args)
    assert verification_logits(replace(asked, runner=runner)) == size


def terms(asked: MemoryInputs) -> dict[Item, tuple[int, bool]]:
    return {term.name: (term.bytes, term.counted) for term in fixed_terms(asked)}


def test_the_draft_is_counted_by_every_version() -> None:
    """Weights of target and draft are within the budget; only logits and other processes are not, here."""
    found = terms(models.ask("vllm 0.33.0", models.LLAMA_8B, models.EAGLE3_8B, tokens=3))
    assert found == {
        Item.TARGET_WEIGHTS: (16_060_522_496, True),
        Item.DRAFT_WEIGHTS: (849_362_944, True),
        Item.GRAPHS: (GIB, True),
        Item.LOGITS: (256 * 3 * 128_256 * 6, False),
        Item.ACTIVATIONS: (2 * GIB, True),
        Item.OTHERS: (GIB // 2, False),
    }


@pytest.mark.parametrize(
    ("case", "buffers"),
    [
        # 256 requests x 131 072 tokens x 4 bytes
        ({"method": "ngram_gpu"}, 134_217_728),
        ({"method": "ngram"}, None),
        ({"speculation": {"draft_sample_method": "probabilistic"}, "tokens": 4}, 4 * 256 * 4 * 128_256),
        ({"speculation": {"draft_sample_method": "greedy"}}, None),
    ],
)
def test_some_methods_keep_buffers(case: models.Config, buffers: int | None) -> None:
    found = terms(models.ask("vllm 0.33.0", **case)).get(Item.DRAFT_BUFFERS)
    assert found == (None if buffers is None else (buffers, True))


@pytest.mark.parametrize(
    ("engine", "method", "draft_tp", "devices"),
    [
        ("vllm 0.33.0", "draft_model", 1, 1),  # the second runner applies it
        ("vllm 0.33.0", "draft_model", None, 4),
        ("vllm 0.30.0", "draft_model", 1, 4),
        ("vllm 0.33.0", "eagle3", 1, 4),
        ("vllm-ascend 0.23.0", "eagle3", 1, 1),
    ],
)
def test_how_many_devices_share_the_draft(engine: str, method: str, draft_tp: int | None, devices: int) -> None:
    speculation = {} if draft_tp is None else {"draft_tensor_parallel_size": draft_tp}
    asked = models.ask(
        engine, models.LLAMA_70B, models.LLAMA_8B, method=method, speculation=speculation, tensor_parallel_size=4
    )
    assert asked.draft_devices == devices
    assert asked.draft is not None
    assert asked.draft.weights is not None
    assert terms(asked)[Item.DRAFT_WEIGHTS] == (asked.draft.weights.share(devices), True)


def test_pipeline_stages_share_the_target_and_the_last_one_has_the_draft() -> None:
    asked = models.ask("vllm 0.33.0", models.LLAMA_8B, models.EAGLE3_8B, pipeline_parallel_size=2)
    found = terms(asked)
    assert found[Item.TARGET_WEIGHTS] == (8_030_261_248, True)
    assert found[Item.DRAFT_WEIGHTS] == (849_362_944, True)


@pytest.mark.parametrize(
    ("engine", "gib", "asked_for", "seqs"),
    [
        ("vllm 0.33.0", 80, None, 1024),
        ("vllm 0.33.0", 48, None, 256),
        ("vllm-ascend 0.23.0", 128, None, 256),
        ("vllm 0.33.0", 80, 64, 64),
        ("vllm 0.33.0", None, None, 256),
    ],
)
def test_the_batch_where_the_user_names_none(engine: str, gib: int | None, asked_for: int | None, seqs: int) -> None:
    assert models.ask(engine, gib=gib, max_num_seqs=asked_for).seqs == seqs


@pytest.mark.parametrize("method", ["deepseek_mtp", "glm4_moe_mtp", "mtp"])
def test_old_names_of_mtp_are_mtp(method: str) -> None:
    assert models.ask(target=models.DEEPSEEK_V3, method=method).method == "mtp"


def test_suffix_without_a_number_verifies_its_whole_tree() -> None:
    asked = models.ask(method="suffix", speculation={"num_speculative_tokens": None})
    assert asked.tokens == 24


def test_experts_are_spread_over_data_parallelism_where_asked() -> None:
    plain = models.ask(target=models.QWEN3_30B, tensor_parallel_size=2, data_parallel_size=4)
    spread = models.ask(
        target=models.QWEN3_30B, tensor_parallel_size=2, data_parallel_size=4, enable_expert_parallel=True
    )
    assert (plain.expert_devices, spread.expert_devices) == (None, 8)
    assert terms(spread)[Item.TARGET_WEIGHTS] < terms(plain)[Item.TARGET_WEIGHTS]
