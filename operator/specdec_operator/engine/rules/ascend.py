"""vllm-ascend: its own limits, and its own verification."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from specdec_operator.engine import flags
from specdec_operator.engine.rule import Finding, Rule
from specdec_operator.engine.rules.making import refused, shown, stricter, warned
from specdec_operator.engine.runner import VARIABLE, Runner, forced
from specdec_operator.engine.settled import Settled
from specdec_operator.engine.tables import table
from specdec_operator.engine.version import Flavor, Version

_NPU: Final = (Flavor.VLLM_ASCEND,)
_SAMPLER: Final = "vllm-ascend ascend_config.py RejectionSamplerConfig"
MOST: Final = 16
"""1+K at most, for the layout of the attention operator."""

TOKENS: Final = stricter(
    "ASC-K", "vllm-ascend allows 1+K <= 16.", "decode_threshold in vllm-ascend's attention", on=_NPU
)
METHOD: Final = stricter(
    "ASC-METHOD",
    "vllm-ascend's release must have a drafter for the method.",
    "vllm-ascend get_spec_decode_method",
    on=_NPU,
)
PARALLEL: Final = stricter(
    "ASC-PARALLEL", "P-EAGLE and PARD run since vllm-ascend 0.22.1.", "vllm-ascend release notes", on=_NPU
)
SWITCH: Final = refused(
    "ASC-SAMPLER-SWITCH", "The sampler's switches are true or false.", _SAMPLER, since="0.21", on=_NPU
)
THRESHOLD: Final = refused(
    "ASC-SAMPLER-THRESHOLD", "posterior_threshold lies in (0, 1].", _SAMPLER, since="0.21", on=_NPU
)
ALPHA: Final = refused("ASC-SAMPLER-ALPHA", "posterior_alpha is zero or more.", _SAMPLER, since="0.21", on=_NPU)
UNKNOWN: Final = warned(
    "ASC-SAMPLER-KEY", "The sampler's config has four fields; others have no effect.", _SAMPLER, since="0.21", on=_NPU
)
EARLY: Final = warned("ASC-SAMPLER-SINCE", "The sampler's config is read since 0.21.", _SAMPLER, until="0.20", on=_NPU)
ELSEWHERE: Final = warned(
    "SAMPLER-ASCEND-ONLY",
    "rejection_sampler_config is vllm-ascend's; other engines ignore it.",
    _SAMPLER,
    on=(Flavor.VLLM, Flavor.VLLM_CPU),
)
LOSSY_BLOCK: Final = warned(
    "ASC-BLOCK-LOSSY",
    "Block verification on NPUs changes what the target would have said.",
    "vllm-ascend reject_sample.py",
    since="0.21",
    on=_NPU,
)
LOSSY_ENTROPY: Final = warned(
    "ASC-ENTROPY-LOSSY",
    "Entropy verification changes what the target would have said, unless threshold is 1 and alpha 0.",
    "vllm-ascend reject_sample.py",
    since="0.21",
    on=_NPU,
)
SHORT_BLOCK: Final = warned(
    "ASC-BLOCK-SHORT",
    "Block verification needs K of at least 3.",
    "vllm-ascend reject_sample.py",
    since="0.21",
    on=_NPU,
)
SYNTHETIC: Final = stricter(
    "ASC-BLOCK-SYNTHETIC",
    "Block verification stops the first request with synthetic acceptance.",
    "vllm-ascend rejection_sampler.py",
    since="0.21",
    on=_NPU,
)
ALWAYS: Final = warned(
    "ASC-BLOCK-ALWAYS",
    "From 0.13 to 0.17 block verification is always on for K of 3 and more, and known to be wrong.",
    "vllm-ascend issues 7603 and 7808",
    since="0.13",
    until="0.17",
    on=_NPU,
)
UNPADDED: Final = stricter(
    "ASC-UNPADDED", "Full graphs on NPUs need a padded drafter batch.", "vllm-ascend NotImplementedError", on=_NPU
)
IGNORED: Final = warned(
    "ASC-IGNORED", "vllm-ascend ignores the draft's quantization and attention_backend.", "vllm-ascend", on=_NPU
)
BLOCKING: Final = refused(
    "ASC-BLOCKING", "Graphs on NPUs exclude ASCEND_LAUNCH_BLOCKING=1.", "vllm-ascend platform.py", on=_NPU
)
PIPELINE: Final = refused(
    "ASC-PP-MTP",
    "vllm-ascend 0.22 and 0.23 run mtp with pipeline parallelism on prefill nodes only.",
    "vllm-ascend platform.py _validate_pd_pp_mtp_config",
    since="0.22",
    until="0.23",
    on=_NPU,
)
UNREAD: Final = warned(
    "ASC-SAMPLER-RUNNER",
    "Model Runner V2 on NPUs ignores the sampler's config.",
    "vllm-ascend, its own Model Runner V2",
    since="0.21",
    on=_NPU,
)

RULES: Final = (
    TOKENS,
    METHOD,
    PARALLEL,
    SWITCH,
    THRESHOLD,
    ALPHA,
    UNKNOWN,
    EARLY,
    ELSEWHERE,
    LOSSY_BLOCK,
    LOSSY_ENTROPY,
    SHORT_BLOCK,
    SYNTHETIC,
    ALWAYS,
    UNPADDED,
    IGNORED,
    BLOCKING,
    PIPELINE,
    UNREAD,
)

_CONFIG: Final = "args.additional_config.rejection_sampler_config"
_SWITCHES: Final = ("enable_block_verify", "enable_entropy_verify")
_KEYS: Final = (*_SWITCHES, "posterior_threshold", "posterior_alpha")
_BLOCKING: Final = "ASCEND_LAUNCH_BLOCKING"


def check(settled: Settled) -> Iterator[Finding]:
    """Limits first, then verification."""
    sampler = flags.part(settled.case, "additional_config", "rejection_sampler_config")
    if isinstance(sampler, Mapping) and sampler:
        yield ELSEWHERE.broken(_CONFIG, sampler, "remove it, or serve on NPUs")
        yield EARLY.broken(_CONFIG, sampler, "use 0.21 or later")
        yield from _sampler(sampler)
        yield from _verifies(sampler, settled)
        if forced(settled) is Runner.V2:
            yield UNREAD.broken(_CONFIG, sampler, f"leave {VARIABLE} out, or this")
    if settled.case.env.get(_BLOCKING) == "1" and not flags.switched(settled.case, "enforce_eager"):
        yield BLOCKING.broken(f"env.{_BLOCKING}", "1", f"remove {_BLOCKING}, or set enforceEager")
    if settled.case.build.flavor is Flavor.VLLM_ASCEND and settled.speculates:
        yield from _limits(settled)
        yield from _piped(settled)


def _limits(settled: Settled) -> Iterator[Finding]:
    field = "speculative_config.num_speculative_tokens"
    if settled.k is not None and 1 + settled.k > MOST:
        yield TOKENS.broken(field, settled.k, f"vllm-ascend allows 1+K <= {MOST}: at most {MOST - 1} draft tokens")
    if settled.k is not None and settled.k >= 3:
        yield ALWAYS.broken(field, settled.k, "use at most 2 draft tokens, or 0.18 and later")
    release = settled.case.build.ascend
    if release is not None and settled.method:
        first = table("methods")["methods"][settled.method].get("ascend")
        if first is None or release < Version.parse(first):
            since = f"it is there since {first}" if first else "no release has one"
            message = f"vllm-ascend {release} has no drafter for {settled.method}; {since}"
            yield METHOD.broken("speculative_config.method", settled.method, message)
        parallel = settled.value("parallel_drafting", False) and settled.method in ("eagle", "eagle3", "draft_model")
        if parallel and release < Version(0, 22, 1):
            yield PARALLEL.broken("speculative_config.parallel_drafting", True, "use vllm-ascend 0.22.1 or later")
    mode = flags.part(settled.case, "compilation_config", "cudagraph_mode")
    full = isinstance(mode, str) and mode.upper().startswith("FULL")
    if settled.value("disable_padded_drafter_batch", False) and full:
        yield UNPADDED.broken("speculative_config.disable_padded_drafter_batch", True, "remove it, or full graphs")
    for key in ("quantization", "attention_backend"):
        if settled.value(key) is not None:
            yield IGNORED.broken(f"speculative_config.{key}", settled.value(key), f"{key} has no effect on NPUs")


def _piped(settled: Settled) -> Iterator[Finding]:
    depth = flags.size(settled.case, "pipeline_parallel_size") or 1
    prefills = flags.part(settled.case, "kv_transfer_config", "kv_role") == "kv_producer"
    if depth > 1 and settled.method == "mtp" and not prefills:
        yield PIPELINE.broken("args.pipeline_parallel_size", depth, "use tensor parallelism for mtp")


def _sampler(sampler: Mapping[str, Any]) -> Iterator[Finding]:
    """The sampler's own checks."""
    for key in _SWITCHES:
        if key in sampler and not isinstance(sampler[key], bool):
            yield SWITCH.broken(f"{_CONFIG}.{key}", sampler[key], f"{key} must be true or false")
    threshold, alpha = sampler.get("posterior_threshold", 0.95), sampler.get("posterior_alpha", 0.4)
    yield from _number(THRESHOLD, "posterior_threshold", threshold, fits=_is_number(threshold) and 0 < threshold <= 1)
    yield from _number(ALPHA, "posterior_alpha", alpha, fits=_is_number(alpha) and alpha >= 0)
    for key in sampler:
        if key not in _KEYS:
            yield UNKNOWN.broken(f"{_CONFIG}.{key}", sampler[key], f"{key} has no effect; there are {', '.join(_KEYS)}")


def _number(rule: Rule, key: str, value: object, *, fits: bool) -> Iterator[Finding]:
    if not fits:
        yield rule.broken(f"{_CONFIG}.{key}", value, f"{key} is {shown(value)}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _verifies(sampler: Mapping[str, Any], settled: Settled) -> Iterator[Finding]:
    """What the switches do to answers."""
    if sampler.get("enable_block_verify") is True:
        field = f"{_CONFIG}.enable_block_verify"
        yield LOSSY_BLOCK.broken(field, True, "compare answers before you use it")
        if settled.k is not None and settled.k < 3:
            yield SHORT_BLOCK.broken(field, True, f"with {settled.k} draft tokens it has no effect")
        if settled.value("rejection_sample_method") == "synthetic":
            yield SYNTHETIC.broken(field, True, "remove it, or synthetic acceptance")
    lossless = sampler.get("posterior_threshold") == 1 and sampler.get("posterior_alpha") == 0
    if sampler.get("enable_entropy_verify") is True and not lossless:
        yield LOSSY_ENTROPY.broken(f"{_CONFIG}.enable_entropy_verify", True, "compare answers before you use it")
