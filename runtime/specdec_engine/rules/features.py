"""Features of the server that meet speculation."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from specdec_engine.model_runner import Runner, runner
from specdec_engine.resolve import Resolved
from specdec_engine.rule import Finding, at_flag, broken
from specdec_engine.tables import in_release

_POOLING: Final = ("ForSequenceClassification", "ForTokenClassification", "RewardModel", "ForEmbedding")
_ENCODERS: Final = frozenset(("bert", "roberta", "xlm-roberta", "modernbert", "distilbert"))
_POOLING_NAME: Final = re.compile(r"(?:^|[-_.])(?:embed|embedding|reranker|reward)(?:[-_.]|$)", re.IGNORECASE)
_TASKS: Final = frozenset(("embed", "embedding", "classify", "score", "reward", "token_embed", "token_classify"))
_OVERLAPPING: Final = ("deepep_low_latency", "deepep_high_throughput", "nixl_ep")
_EAGLE_LIKE: Final = frozenset(("eagle", "eagle3", "mtp", "dflash", "dspark"))


def check(resolved: Resolved) -> Iterator[Finding]:
    """Flag by flag."""
    args, speculates = resolved.case.args, resolved.speculates
    metrics = args.get("per_request_spec_decode_metrics")
    if metrics not in (None, "none") and not speculates:
        yield at_flag("METRICS-PLAIN", "per_request_spec_decode_metrics", metrics, "remove it, or enable speculation")
    if resolved.case.switched("kv_sharing_fast_prefill") and resolved.method in _EAGLE_LIKE:
        yield at_flag("FAST-PREFILL", "kv_sharing_fast_prefill", True, f"remove it with {resolved.method}")
    yield from _recurrent(resolved)
    for name in ("max_num_partial_prefills", "max_long_partial_prefills"):
        if args.get(name) not in (None, 1):
            yield at_flag("PARTIAL-PREFILL", name, args[name], "remove it")
    yield from _experts(resolved)
    targets = resolved.target.architectures if resolved.target is not None else ()
    plain = [each for each in targets if in_release("architectures", "no_adapters", each, resolved.version)]
    if plain and len(plain) == len(targets) and resolved.case.switched("enable_lora"):
        yield at_flag("LORA-TARGET", "enable_lora", True, f"{', '.join(plain)} does not support adapters; remove them")
    role = resolved.case.part("ec_transfer_config", "ec_role")
    if role == "ec_producer" and _text_only(resolved):
        yield at_flag("ENCODER-PRODUCER", "ec_transfer_config", role, "remove it: the target has no encoder")
    if speculates:
        yield from _with_speculation(resolved)


def _experts(resolved: Resolved) -> Iterator[Finding]:
    """What needs experts that are spread over ranks, and a backend that passes tokens between them."""
    case = resolved.case
    ranks = (
        case.size("tensor_parallel_size") * case.size("data_parallel_size") * case.size("prefill_context_parallel_size")
    )
    if case.switched("enable_eplb") and (not case.switched("enable_expert_parallel") or ranks == 1):
        message = "add --enable-expert-parallel, and spread over several devices; or remove it"
        yield at_flag("EPLB-EXPERTS", "enable_eplb", True, message)
    if case.switched("enable_eplb"):
        yield at_flag("EPLB-DEVICE", "enable_eplb", True, "remove it; vllm-ascend has its own eplb_config")
    backend = case.args.get("all2all_backend", "allgather_reducescatter")
    if (case.switched("enable_dbo") or case.size("ubatch_size") > 1) and backend not in _OVERLAPPING:
        message = f"name an --all2all-backend of {', '.join(_OVERLAPPING)}, or remove it"
        yield at_flag("DBO-BACKEND", "enable_dbo", backend, message)


def _with_speculation(resolved: Resolved) -> Iterator[Finding]:
    args = resolved.case.args
    if args.get("logits_processors") and runner(resolved) is Runner.V1:
        yield at_flag(
            "LOGITS-PROCESSORS", "logits_processors", args["logits_processors"], "remove them, or speculation"
        )
    yield from _pools(resolved)


def generates_nothing(architectures: Iterable[str], model_type: object) -> bool:
    """Whether a model is certain to return vectors or scores instead of tokens."""
    return model_type in _ENCODERS or any(mark in name for name in architectures for mark in _POOLING)


def _pools(resolved: Resolved) -> Iterator[Finding]:
    """By a flag, by the config, or by the target's name if its config is not known."""
    args, target, message = resolved.case.args, resolved.target, "generates no tokens, so there is nothing to guess"
    flag = next((name for name in ("runner", "convert", "task") if args.get(name) in {"pooling", *_TASKS}), "")
    name = resolved.case.target_name.rstrip("/").rpartition("/")[2].partition(":")[0]
    if flag:
        yield at_flag("POOLING", flag, args[flag], f"a pooling model {message}; remove speculation")
    elif target is not None and generates_nothing(target.architectures, target.model_type):
        which = ", ".join(target.architectures) or target.model_type
        yield broken("POOLING", "target.architectures", which, f"{which} {message}; remove speculation")
    elif target is None and _POOLING_NAME.search(name):
        message = f"by its name, {name} {message}; remove speculation, or name the model differently"
        yield broken("POOLING", "target", resolved.case.target_name, message)


def _text_only(resolved: Resolved) -> bool:
    """Whether no architecture of the target takes anything but text, for certain."""
    named = resolved.target.architectures if resolved.target is not None else ()
    seen = [in_release("architectures", "multimodal", each, resolved.version) for each in named]
    registered = all(in_release("architectures", "registered", each, resolved.version) for each in named)
    return bool(seen) and registered and all(each is False for each in seen)


_HYBRID: Final = re.compile(r"qwen3[._][5-9]|qwen3[._-]?next|nemotron[._-]?(?:h|3)(?![a-z0-9])", re.IGNORECASE)
"""Series whose models have both recurrent layers and drafting heads."""


def _is_hybrid_by_name(resolved: Resolved) -> str:
    """The series in the target's name; empty if its config is known, or if the name shows none."""
    found = _HYBRID.search(resolved.case.target_name) if resolved.target is None else None
    return found[0] if found else ""


def _recurrent(resolved: Resolved) -> Iterator[Finding]:
    """The prefix cache of Mamba-like targets."""
    args = resolved.case.args
    if not resolved.case.switched("enable_prefix_caching"):
        return
    known, by_name = resolved.target_is("recurrent"), _is_hybrid_by_name(resolved)
    if resolved.method == "mtp" and (known or by_name):
        which = "the target" if known else f"{by_name}, by the target's name,"
        message = (
            f"{which} has recurrent layers, and with mtp their prefix cache gives wrong answers (vLLM issue 53912, "
            "vllm-ascend issue 17338); remove --enable-prefix-caching, or compare the answers with the baseline's"
        )
        yield at_flag("MTP-PREFIX", "enable_prefix_caching", True, message)
    if not known:
        return
    field, mode = "args.enable_prefix_caching", args.get("mamba_cache_mode")
    if args.get("enable_chunked_prefill") is False:
        yield broken("MAMBA-CHUNKS", field, True, "remove --no-enable-chunked-prefill, or the prefix cache")
    if resolved.speculates and resolved.method is not None and mode in (None, "none", "align"):
        yield broken("MAMBA-ALIGN", field, True, "remove --enable-prefix-caching, or speculation")
