"""vllm-ascend: its own limits, and its own verification."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from specdec_engine.graph_coverage import captures_decoding, graph_mode
from specdec_engine.methods import NPU_MOST_TOKENS
from specdec_engine.model_runner import VARIABLE, Runner, forced
from specdec_engine.resolve import Resolved
from specdec_engine.rule import Finding, at_flag, at_key, broken, shown
from specdec_engine.tables import table
from specdec_engine.version import Flavor, Version

_CONFIG: Final = "args.additional_config.rejection_sampler_config"
_SWITCHES: Final = ("enable_block_verify", "enable_entropy_verify")
_KEYS: Final = (*_SWITCHES, "posterior_threshold", "posterior_alpha")
_BLOCKING: Final = "ASCEND_LAUNCH_BLOCKING"
_SIDES: Final[Mapping[str, tuple[str | None, ...]]] = MappingProxyType(
    {
        "layer_sharding": ("kv_producer",),
        "recompute_scheduler_enable": ("kv_consumer", "kv_producer"),
        "enable_balance_scheduling": ("kv_both", None),
    }
)
"""Switches by the roles that they work with; a prefill node only ignores recompute_scheduler_enable."""


def check(resolved: Resolved) -> Iterator[Finding]:
    """Limits first, then verification."""
    sampler = resolved.case.part("additional_config", "rejection_sampler_config")
    if sampler is not None and not isinstance(sampler, Mapping):
        yield broken("ASC-SAMPLER-OBJECT", _CONFIG, sampler, f"write an object with {', '.join(_KEYS)}")
    elif isinstance(sampler, Mapping) and sampler:
        yield from _given(sampler, resolved)
    if resolved.case.env.get(_BLOCKING) == "1" and graph_mode(resolved.case) != "NONE":
        yield broken("ASC-BLOCKING", f"env.{_BLOCKING}", "1", f"remove {_BLOCKING}, or set enforceEager")
    if resolved.case.build.flavor is Flavor.VLLM_ASCEND:
        yield from _options(resolved)
    if resolved.case.build.flavor is Flavor.VLLM_ASCEND and resolved.speculates:
        yield from _limits(resolved)
        yield from _piped(resolved)


def _given(sampler: Mapping[str, object], resolved: Resolved) -> Iterator[Finding]:
    """Rules about a config of the sampler: which engines read it, and its keys."""
    yield broken(
        "SAMPLER-ASCEND-ONLY",
        _CONFIG,
        sampler,
        "only vllm-ascend reads it, so it has no effect here; remove it, or use engine.accelerator ascend",
    )
    yield broken(
        "ASC-SAMPLER-SINCE", _CONFIG, sampler, "no version up to 0.20 reads it; use 0.21 or later, or remove it"
    )
    yield from _sampler(sampler)
    yield from _verifies(sampler, resolved)
    if forced(resolved) is Runner.V2:
        yield broken(
            "ASC-SAMPLER-RUNNER",
            _CONFIG,
            sampler,
            f"with {VARIABLE}=1 the engine ignores it; remove one of the two",
        )


def _limits(resolved: Resolved) -> Iterator[Finding]:
    key = "num_speculative_tokens"
    if resolved.k is not None and resolved.k > NPU_MOST_TOKENS:
        message = f"vllm-ascend allows 1+K <= {NPU_MOST_TOKENS + 1}: at most {NPU_MOST_TOKENS} draft tokens"
        yield at_key("ASC-K", key, resolved.k, message)
    if resolved.k is not None and resolved.k >= 3:
        yield at_key("ASC-BLOCK-ALWAYS", key, resolved.k, _ALWAYS)
    release = resolved.case.build.ascend
    if release is not None and resolved.method:
        first = _first(resolved)
        if first is None or release < Version.parse(first):
            since = f"it was added in {first}" if first else "no release has one"
            message = f"vllm-ascend {release} has no drafter for {resolved.method}; {since}"
            yield at_key("ASC-METHOD", "method", resolved.method, message)
        parallel = resolved.value("parallel_drafting", False) and resolved.method in ("eagle", "eagle3", "draft_model")
        if parallel and release < Version(0, 22, 1):
            yield at_key("ASC-PARALLEL", "parallel_drafting", True, "use vllm-ascend 0.22.1 or later")
    if resolved.value("disable_padded_drafter_batch", False) and captures_decoding(resolved.case):
        yield at_key(
            "ASC-UNPADDED", "disable_padded_drafter_batch", True, "remove it, or set cudagraph_mode to PIECEWISE"
        )
    for key in ("quantization", "attention_backend"):
        if resolved.value(key) is not None:
            yield at_key("ASC-IGNORED", key, resolved.value(key), f"vllm-ascend ignores {key}; remove it")


def _first(resolved: Resolved) -> str | None:
    """The first release with a drafter for the method. 0.11.0 has one for mtp under the name of DeepSeek's alone."""
    methods, word = table("methods")["methods"], resolved.value("method")
    named = word if methods.get(word, {}).get("alias_of") == resolved.method else resolved.method
    first: str | None = methods[named].get("ascend")
    return first


def _options(resolved: Resolved) -> Iterator[Finding]:
    """The plug-in's own switches."""
    xlite = resolved.case.part("additional_config", "xlite_graph_config")
    if isinstance(xlite, Mapping) and xlite.get("enabled") and resolved.speculates and resolved.k not in (1, None):
        message = f"{resolved.k} draft tokens: remove xlite_graph_config, or use 1"
        yield at_flag("ASC-XLITE", "additional_config.xlite_graph_config", xlite, message)
    if isinstance(xlite, Mapping) and xlite.get("enabled") and resolved.case.size("pipeline_parallel_size") > 1:
        depth = resolved.case.size("pipeline_parallel_size")
        yield at_flag("ASC-XLITE", "pipeline_parallel_size", depth, "remove xlite_graph_config, or the pipeline")
    yield from _of_one_side(resolved)
    latent = resolved.target is None or bool(resolved.target.text.get("kv_lora_rank"))
    if resolved.case.part("additional_config", "enable_kv_nz") and not latent:
        message = "remove it: the target has no multi-head latent attention"
        yield at_flag("ASC-KV-NZ", "additional_config.enable_kv_nz", True, message)


def _of_one_side(resolved: Resolved) -> Iterator[Finding]:
    """Switches for prefill nodes, for decode nodes, and for nodes that do both."""
    role = resolved.case.part("kv_transfer_config", "kv_role")
    for key, fits in _SIDES.items():
        value = resolved.case.part("additional_config", key)
        if value and role not in fits:
            wanted = " or ".join(each or "no kv_transfer_config" for each in fits)
            yield at_flag("ASC-ROLE", f"additional_config.{key}", value, f"it needs {wanted}; remove it")


def _piped(resolved: Resolved) -> Iterator[Finding]:
    depth = resolved.case.size("pipeline_parallel_size")
    prefills = resolved.case.part("kv_transfer_config", "kv_role") == "kv_producer"
    if depth > 1 and resolved.method == "mtp" and not prefills:
        yield at_flag("ASC-PP-MTP", "pipeline_parallel_size", depth, "use tensor parallelism for mtp")


def _sampler(sampler: Mapping[str, Any]) -> Iterator[Finding]:
    """The sampler's own checks."""
    for key in _SWITCHES:
        if key in sampler and not isinstance(sampler[key], bool):
            yield broken("ASC-SAMPLER-SWITCH", f"{_CONFIG}.{key}", sampler[key], f"{key} must be true or false")
    threshold, alpha = sampler.get("posterior_threshold", 0.95), sampler.get("posterior_alpha", 0.4)
    yield from _number(
        "ASC-SAMPLER-THRESHOLD", "posterior_threshold", threshold, fits=_is_number(threshold) and 0 < threshold <= 1
    )
    yield from _number("ASC-SAMPLER-ALPHA", "posterior_alpha", alpha, fits=_is_number(alpha) and alpha >= 0)
    for key in sampler:
        if key not in _KEYS:
            message = f"{key} has no effect; use {', '.join(_KEYS)}"
            yield broken("ASC-SAMPLER-KEY", f"{_CONFIG}.{key}", sampler[key], message)


def _number(rule: str, key: str, value: object, *, fits: bool) -> Iterator[Finding]:
    if not fits:
        yield broken(rule, f"{_CONFIG}.{key}", value, f"{key} is {shown(value)}")


def _is_number(value: object) -> bool:
    """As the plug-in asks: true is 1 to it, and false is 0."""
    return isinstance(value, int | float)


_ALWAYS: Final = (
    "0.13 to 0.17 always use block verification with 3 or more draft tokens, which changes answers (vllm-ascend "
    "issues 7603, 7808); use at most 2 draft tokens, or 0.18 or later"
)
_LOSSY: Final = "the answers differ from those of the target; compare them before you use it, or remove it"


def _verifies(sampler: Mapping[str, Any], resolved: Resolved) -> Iterator[Finding]:
    """What the switches do to answers."""
    if sampler.get("enable_block_verify") is True:
        field = f"{_CONFIG}.enable_block_verify"
        yield broken("ASC-BLOCK-LOSSY", field, True, _LOSSY)
        if resolved.k is not None and resolved.k < 3:
            yield broken(
                "ASC-BLOCK-SHORT",
                field,
                True,
                f"with {resolved.k} draft tokens it has no effect; use 3 or more, or remove it",
            )
        if resolved.value("rejection_sample_method") == "synthetic":
            yield broken("ASC-BLOCK-SYNTHETIC", field, True, "remove it, or synthetic acceptance")
    lossless = sampler.get("posterior_threshold") == 1 and sampler.get("posterior_alpha") == 0
    if sampler.get("enable_entropy_verify") is True and not lossless:
        yield broken("ASC-ENTROPY-LOSSY", f"{_CONFIG}.enable_entropy_verify", True, _LOSSY)
