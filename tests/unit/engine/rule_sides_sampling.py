"""Verification, schedules and vllm-ascend's own sampler; each rule on both sides."""

from typing import Any

from tests.unit.engine.cases import CPU, NPU, case, spec

from specdec_engine.case import Case

NGRAM = spec("ngram")
SECOND = {"VLLM_USE_V2_MODEL_RUNNER": "1"}
ENTROPY = {"rejection_sampler_config": {"enable_entropy_verify": True}}


def synthetic(k: int = 2, **more: Any) -> dict[str, Any]:
    return spec("ngram", k, rejection_sample_method="synthetic", **more)


def schedule(*rows: list[int], **more: Any) -> Case:
    """A schedule for an EAGLE-3 head."""
    version = more.pop("version", "0.32.0")
    method = spec("eagle3", num_speculative_tokens_per_batch_size=list(rows))
    return case(method, draft="d-eagle3", version=version, **more)


def npu(
    speculation: dict[str, Any] | None = None, *, version: str = "0.23.0", ascend: str = "0.23.0", **sampler: Any
) -> Case:
    config = {"rejection_sampler_config": sampler} if sampler else {}
    return case(speculation or NGRAM, version=version, flavor=NPU, ascend=ascend, additional_config=config)


SIDES: list[tuple[str, Case, Case]] = [
    (
        "SYNTHETIC-RATE",
        case(synthetic(synthetic_acceptance_rate=1.7), version="0.19.0"),
        case(synthetic(synthetic_acceptance_rate=0.7), version="0.19.0"),
    ),
    ("SYNTHETIC-OUTPUT", case(synthetic(synthetic_acceptance_length=2)), case(NGRAM)),
    (
        "BLOCK-RUNNER",
        case(spec("suffix", rejection_sample_method="block")),
        case(spec("eagle3", rejection_sample_method="block"), draft="d-eagle3"),
    ),
    ("BLOCK-RUNNER", npu(spec("eagle3", rejection_sample_method="block"), version="0.25.1"), npu(NGRAM)),
    (
        "ARGMAX-PROBABILISTIC",
        case(spec("eagle3", use_local_argmax_reduction=True, draft_sample_method="probabilistic"), draft="d-eagle3"),
        case(spec("eagle3", use_local_argmax_reduction=True), draft="d-eagle3"),
    ),
    ("SAMPLING-LOST", case(NGRAM), case(NGRAM, version="0.13.0")),
    ("SAMPLING-IGNORED", case(NGRAM, version="0.13.0"), case()),
    (
        "FLY-METHOD",
        case(spec("extract_hidden_states", 1, rejection_sample_method="fly"), version="0.33.0"),
        case(spec("ngram", rejection_sample_method="fly"), version="0.33.0"),
    ),
    (
        "FLY-CPU",
        case(spec("ngram", rejection_sample_method="fly"), version="0.33.0", flavor=CPU),
        case(spec("ngram", rejection_sample_method="fly"), version="0.33.0"),
    ),
    ("FLY-LOSSY", case(spec("ngram", rejection_sample_method="fly"), version="0.33.0"), case(NGRAM, version="0.33.0")),
    ("SCHEDULE-SHAPE", schedule([1, 8, 3], [8, 9, 1]), schedule([9, 20, 1], [1, 8, 3])),
    ("SCHEDULE-SHAPE", schedule(), schedule([1, 256, 0])),
    ("SCHEDULE-SHAPE", schedule([1, 256, -1]), schedule([2, 4, 3], data_parallel_size=2)),
    ("SCHEDULE-ABOVE-K", schedule([1, 4, 9]), schedule([1, 4, 3])),
    ("SCHEDULE-GAPS", schedule([1, 4, 3], [9, 16, 1]), schedule([1, 4, 3], [5, 16, 1])),
    ("SCHEDULE-DP", schedule([1, 4, 3], data_parallel_size=2), schedule([1, 4, 3])),
    (
        "SCHEDULE-DP-DEADLOCK",
        schedule([1, 4, 3], data_parallel_size=2, version="0.25.1"),
        schedule([1, 4, 3], data_parallel_size=2),
    ),
    (
        "SCHEDULE-SUFFIX",
        case(spec("suffix", num_speculative_tokens_per_batch_size=[[1, 4, 3]])),
        case(spec("ngram", num_speculative_tokens_per_batch_size=[[1, 4, 3]])),
    ),
    (
        "ASC-SCHEDULE",
        npu(spec("suffix", num_speculative_tokens_per_batch_size=[[1, 4, 3]]), version="0.24.0"),
        npu(spec("ngram", num_speculative_tokens_per_batch_size=[[1, 4, 3]]), version="0.24.0"),
    ),
    ("SCHEDULE-UNREAD", schedule([1, 4, 3], version="0.30.0"), schedule([1, 4, 3])),
    ("SCHEDULE-GRAPHS", schedule([1, 4, 3], flavor=CPU), schedule([1, 4, 3])),
    ("ASC-METHOD", npu(spec("dflash"), version="0.20.2", ascend="0.19.1"), npu(spec("dflash"), version="0.20.2")),
    (
        "ASC-PARALLEL",
        npu(spec("draft_model", parallel_drafting=True, model="/d"), ascend="0.21.0"),
        npu(spec("draft_model", parallel_drafting=True, model="/d")),
    ),
    ("ASC-SAMPLER-THRESHOLD", npu(posterior_threshold=0), npu(posterior_threshold=1)),
    ("ASC-SAMPLER-ALPHA", npu(posterior_alpha=-0.1), npu(posterior_alpha=0)),
    ("ASC-SAMPLER-KEY", npu(enable_block=True), npu(enable_block_verify=False)),
    ("ASC-SAMPLER-SINCE", npu(version="0.20.2", enable_block_verify=True), npu(enable_block_verify=True)),
    (
        "SAMPLER-ASCEND-ONLY",
        case(NGRAM, additional_config={"rejection_sampler_config": {"enable_block_verify": True}}),
        npu(enable_block_verify=True),
    ),
    ("ASC-BLOCK-LOSSY", npu(enable_block_verify=True), npu(enable_block_verify=False)),
    (
        "ASC-ENTROPY-LOSSY",
        npu(enable_entropy_verify=True, posterior_alpha=0),
        npu(enable_entropy_verify=True, posterior_alpha=0, posterior_threshold=1),
    ),
    ("ASC-BLOCK-SHORT", npu(spec("ngram", 2), enable_block_verify=True), npu(enable_block_verify=True)),
    (
        "ASC-BLOCK-SYNTHETIC",
        npu(synthetic(3, synthetic_acceptance_length=2), enable_block_verify=True),
        npu(enable_block_verify=True),
    ),
    ("ASC-BLOCK-ALWAYS", npu(version="0.13.0", ascend="0.13.0"), npu()),
    (
        "ASC-UNPADDED",
        case(
            spec("eagle3", disable_padded_drafter_batch=True),
            flavor=NPU,
            version="0.23.0",
            compilation_config={"cudagraph_mode": "FULL"},
        ),
        case(
            spec("eagle3", disable_padded_drafter_batch=True),
            flavor=NPU,
            version="0.23.0",
            compilation_config={"cudagraph_mode": "PIECEWISE"},
        ),
    ),
    ("ASC-IGNORED", npu(spec("eagle3", quantization="fp8")), npu(spec("eagle3"))),
    (
        "ASC-BLOCKING",
        case(NGRAM, flavor=NPU, version="0.23.0", env={"ASCEND_LAUNCH_BLOCKING": "1"}),
        case(NGRAM, flavor=NPU, version="0.23.0", env={"ASCEND_LAUNCH_BLOCKING": "1"}, enforce_eager=True),
    ),
    (
        "ASC-BLOCKING",
        case(flavor=NPU, version="0.23.0", env={"ASCEND_LAUNCH_BLOCKING": "1"}),
        case(NGRAM, env={"ASCEND_LAUNCH_BLOCKING": "1"}),
    ),
    (
        "ASC-PP-MTP",
        case(spec("mtp", 1), target=None, flavor=NPU, version="0.23.0", pipeline_parallel_size=2),
        case(spec("mtp", 1), target=None, flavor=NPU, version="0.24.0", pipeline_parallel_size=2),
    ),
    (
        "ASC-PP-MTP",
        case(spec("deepseek_mtp", 1), target=None, flavor=NPU, version="0.22.1", pipeline_parallel_size=2),
        case(
            spec("mtp", 1),
            target=None,
            flavor=NPU,
            version="0.23.0",
            pipeline_parallel_size=2,
            kv_transfer_config={"kv_role": "kv_producer"},
        ),
    ),
    (
        "ASC-SAMPLER-RUNNER",
        case(NGRAM, flavor=NPU, version="0.23.0", env=SECOND, additional_config=ENTROPY),
        case(NGRAM, flavor=NPU, version="0.23.0", additional_config=ENTROPY),
    ),
]
