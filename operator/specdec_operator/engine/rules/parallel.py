"""How target and draft are spread over devices."""

from collections.abc import Iterator
from typing import Final

from specdec_operator.engine import flags
from specdec_operator.engine.facts import Facts
from specdec_operator.engine.rule import Finding, Rule
from specdec_operator.engine.rules.making import SPECULATIVE, refused, stricter, warned
from specdec_operator.engine.runner import Runner, runner
from specdec_operator.engine.settled import WITHOUT_DRAFT, Settled
from specdec_operator.engine.tables import known
from specdec_operator.engine.version import Flavor

_MODEL: Final = "config/model.py verify_with_parallel_config"

DRAFT_TP: Final = refused(
    "DRAFT-TP", "The draft's tensor parallel size is 1 or the target's.", f"{SPECULATIVE} _verify_and_get_draft_tp"
)
DRAFT_TP_EQUAL: Final = stricter(
    "DRAFT-TP-EQUAL",
    "On the older model runner a draft model is split like the target.",
    "v1/spec_decode/draft_model.py, raised when the worker starts",
    since="0.15",
)
HEADS: Final = refused("TP-HEADS", "The attention heads must be divisible by the tensor parallel size.", _MODEL)
EXPERTS: Final = refused("EP-DENSE", "Expert parallelism needs a model with experts.", _MODEL)
PIPELINE: Final = refused("PP-TARGET", "Pipeline parallelism needs a target whose architecture supports it.", _MODEL)
PIPELINE_DRAFT: Final = refused(
    "PP-DRAFT",
    "Up to 0.29 the draft is spread over the pipeline too, and its architecture must support that.",
    _MODEL,
    until="0.29",
)
PIPELINE_HIDDEN: Final = refused(
    "PP-HIDDEN", "extract_hidden_states does not run with pipeline parallelism.", _MODEL, since="0.17"
)
PIPELINE_RISK: Final = warned(
    "PP-RISK", "Speculation with pipeline parallelism is young and has open faults.", "vllm issue 49355"
)
CONTEXT_RANKS: Final = refused(
    "DCP-RANKS",
    "Decode context parallelism divides the tensor parallel ranks.",
    "config/parallel.py, engine/arg_utils.py",
)
CONTEXT: Final = refused(
    "DCP-HEADS", "Decode context parallelism needs more tensor parallel ranks than KV heads.", _MODEL
)
CONTEXT_DRAFT: Final = refused(
    "ASC-DCP",
    "On NPUs decode context parallelism needs more of the draft's ranks than its KV heads, too.",
    "vllm-ascend platform.py _validate_draft_decode_context_parallel_config",
    since="0.21",
    on=(Flavor.VLLM_ASCEND,),
)

RULES: Final = (
    HEADS,
    EXPERTS,
    PIPELINE,
    CONTEXT_RANKS,
    CONTEXT,
    DRAFT_TP,
    DRAFT_TP_EQUAL,
    PIPELINE_DRAFT,
    PIPELINE_HIDDEN,
    PIPELINE_RISK,
    CONTEXT_DRAFT,
)

_LATENT: Final = ("kv_lora_rank",)


def check(settled: Settled) -> Iterator[Finding]:
    """The target first, as the engine does."""
    yield from _context_ranks(settled)
    if settled.target is not None:
        yield from _target(settled.target, settled)
    if settled.speculates and settled.method:
        yield from _draft(settled)
        yield from _pipeline(settled)


def _target(target: Facts, settled: Settled) -> Iterator[Finding]:
    case = settled.case
    yield from _split("target", target, flags.size(case, "tensor_parallel_size"))
    if flags.switched(case, "enable_expert_parallel") and not target.experts and not _has_experts(target):
        yield EXPERTS.broken("args.enable_expert_parallel", True, f"{target.model_type} has no experts")
    if (flags.size(case, "pipeline_parallel_size") or 1) > 1:
        yield from _piped(PIPELINE, target.architectures, settled)
    yield from _decode_context(CONTEXT, target, flags.size(case, "tensor_parallel_size"), settled)


def _has_experts(target: Facts) -> bool:
    """Whether the config may hide experts: in blocks, or as its class's default."""
    return bool(target.text.get("block_configs")) or "moe" in target.model_type or "mixtral" in target.model_type


def _split(role: str, model: Facts, ranks: int | None) -> Iterator[Finding]:
    if ranks and model.heads and model.heads % ranks:
        message = f"the {role}'s {model.heads} attention heads do not divide by {ranks}"
        yield HEADS.broken("args.tensor_parallel_size", ranks, message)


def _piped(rule: Rule, architectures: tuple[str, ...], settled: Settled) -> Iterator[Finding]:
    lacking = [each for each in architectures if known("architectures", "no_pipeline", each, settled.version)]
    if lacking and len(lacking) == len(architectures):
        message = f"{', '.join(lacking)} does not run with pipeline parallelism; use tensor parallelism"
        yield rule.broken("args.pipeline_parallel_size", settled.case.args.get("pipeline_parallel_size"), message)


def _context_ranks(settled: Settled) -> Iterator[Finding]:
    ranks = flags.size(settled.case, "decode_context_parallel_size") or 1
    split = flags.size(settled.case, "tensor_parallel_size") or 1
    if ranks > 1 and split % ranks and (flags.size(settled.case, "prefill_context_parallel_size") or 1) == 1:
        message = f"tensor parallel size {split} does not divide by {ranks}"
        yield CONTEXT_RANKS.broken("args.decode_context_parallel_size", ranks, message)


def _decode_context(rule: Rule, model: Facts, split: int | None, settled: Settled) -> Iterator[Finding]:
    ranks = flags.size(settled.case, "decode_context_parallel_size") or 1
    heads = model.kv_heads
    if ranks <= 1 or not heads or not split or any(model.text.get(name) for name in _LATENT):
        return
    per_head = (model.heads or heads) // heads
    if split <= heads or ranks > split // heads or per_head % ranks:
        whose = "" if rule is CONTEXT else "the draft's "
        message = f"{whose}tensor parallel size {split} and {heads} KV heads leave no room for {ranks} context ranks"
        yield rule.broken("args.decode_context_parallel_size", ranks, message)


def _draft(settled: Settled) -> Iterator[Finding]:
    if settled.opens is None or settled.word in WITHOUT_DRAFT:
        return
    asked = settled.value("draft_tensor_parallel_size")
    split = flags.size(settled.case, "tensor_parallel_size") or 1
    if asked is not None and asked not in (1, split):
        message = f"the draft's {asked} is neither 1 nor the target's {split}"
        yield DRAFT_TP.broken("speculative_config.draft_tensor_parallel_size", asked, message)
    elif asked not in (None, split) and settled.method == "draft_model" and not _newer(settled):
        message = f"a draft model needs the target's {split}; leave the key out"
        yield DRAFT_TP_EQUAL.broken("speculative_config.draft_tensor_parallel_size", asked, message)
    if settled.draft is not None:
        yield from _split("draft", settled.draft, asked or split)
        yield from _decode_context(CONTEXT_DRAFT, settled.draft, asked or split, settled)


def _newer(settled: Settled) -> bool:
    """Whether the case may get the runner that splits the draft by itself."""
    return settled.at_least("0.31") and runner(settled) is not Runner.V1


def _pipeline(settled: Settled) -> Iterator[Finding]:
    depth = flags.size(settled.case, "pipeline_parallel_size") or 1
    if depth <= 1:
        return
    if settled.method == "extract_hidden_states":
        yield PIPELINE_HIDDEN.broken("args.pipeline_parallel_size", depth, "use tensor parallelism")
    elif settled.draft is not None and not settled.at_least("0.30"):
        yield from _piped(PIPELINE_DRAFT, settled.draft.architectures, settled)
    yield PIPELINE_RISK.broken("args.pipeline_parallel_size", depth, "compare with a service that serves plainly")
