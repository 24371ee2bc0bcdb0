"""How target and draft are spread over devices."""

from collections.abc import Iterator
from typing import Final

from specdec_engine.case import Case
from specdec_engine.methods import HEADS, WITHOUT_DRAFT
from specdec_engine.model_config import ModelConfig
from specdec_engine.model_runner import Runner, runner
from specdec_engine.pod_devices import MOST, SIZES, USUAL, devices_wanted, over_several_pods
from specdec_engine.resolve import Resolved
from specdec_engine.rule import Finding, at_flag, at_key
from specdec_engine.tables import in_release
from specdec_engine.version import Flavor, Version


def check(resolved: Resolved) -> Iterator[Finding]:
    """The target first, as the engine does."""
    yield from _context_ranks(resolved)
    if resolved.target is not None:
        yield from _target(resolved.target, resolved)
    if resolved.speculates and resolved.method:
        yield from _draft(resolved)
        yield from _pipeline(resolved)


_ONE_POD: Final = "this version renders one pod per engine, without a workerSpec"


def devices(resolved: Resolved) -> Iterator[Finding]:
    """Whether one pod can have the devices that the engine is spread over."""
    case = resolved.case
    if case.build.flavor is Flavor.VLLM_CPU or over_several_pods(case):
        return
    sizes = [case.size(flag) for flag in SIZES]
    wanted, flag = devices_wanted(case), max(SIZES, key=case.size)
    summed = f"tensor {sizes[0]} x pipeline {sizes[1]} x data {sizes[2]} = {wanted} devices in one pod"
    rule, says = _objection(wanted, case)
    if rule:
        yield at_flag(rule, flag, sizes[SIZES.index(flag)], f"{summed}{says}")


def _objection(wanted: int, case: Case) -> tuple[str, str]:
    """The rule that a number of devices breaks, and the text after the sum; two empty texts if none is broken."""
    smaller = f"make the product {USUAL} or less, or use a quantised target"
    asked = case.devices
    if wanted > MOST:
        return "DEVICES-NODE", f", and no node has more than {MOST}: {_ONE_POD}; {smaller}"
    if asked is not None and asked < wanted:
        return "DEVICES-FEW", f", and spec.resources requests {asked}; request {wanted}, or make the product smaller"
    if wanted <= USUAL or asked is not None:
        return "", ""
    if case.build.flavor is Flavor.VLLM and not case.other_devices:
        limit = f'spec.resources.limits "nvidia.com/gpu": {wanted}'
        says = f", and most nodes have {USUAL}: {_ONE_POD}; {smaller}; if a node has {wanted}, request them: {limit}"
        return "DEVICES-MANY", says
    return (
        "DEVICES-PENDING",
        f": on nodes with {USUAL} the pod stays Pending; {smaller}, or check that a node has {wanted}",
    )


def _target(target: ModelConfig, resolved: Resolved) -> Iterator[Finding]:
    case, split = resolved.case, resolved.case.size("tensor_parallel_size")
    yield from _split("target", target, split)
    if case.switched("enable_expert_parallel") and not target.experts and not _has_experts(target):
        yield at_flag("EP-DENSE", "enable_expert_parallel", True, f"{target.model_type} has no experts")
    if case.size("pipeline_parallel_size") > 1:
        yield from _piped("PP-TARGET", target.architectures, resolved)
    if isinstance(case.args.get("tensor_parallel_size", 1), int):  # else its value is what is wrong
        yield from _decode_context("DCP-HEADS", target, split, resolved)


def _has_experts(target: ModelConfig) -> bool:
    """Whether the config may hide experts: in blocks, or as its class's default."""
    return bool(target.text.get("block_configs")) or "moe" in target.model_type or "mixtral" in target.model_type


def _split(role: str, model: ModelConfig, ranks: int) -> Iterator[Finding]:
    if model.heads and model.heads % ranks:
        message = f"the {role}'s {model.heads} attention heads are not divisible by {ranks}"
        yield at_flag("TP-HEADS", "tensor_parallel_size", ranks, message)


def _piped(rule: str, architectures: tuple[str, ...], resolved: Resolved) -> Iterator[Finding]:
    lacking = [each for each in architectures if in_release("architectures", "no_pipeline", each, resolved.version)]
    if lacking and len(lacking) == len(architectures):
        message = f"{', '.join(lacking)} does not run with pipeline parallelism; use tensor parallelism"
        yield at_flag(rule, "pipeline_parallel_size", resolved.case.args.get("pipeline_parallel_size"), message)


def _context_ranks(resolved: Resolved) -> Iterator[Finding]:
    ranks = resolved.case.size("decode_context_parallel_size")
    split = resolved.case.size("tensor_parallel_size")
    if ranks > 1 and split % ranks and resolved.case.size("prefill_context_parallel_size") == 1:
        message = f"tensor parallel size {split} is not divisible by {ranks}"
        yield at_flag("DCP-RANKS", "decode_context_parallel_size", ranks, message)


def _decode_context(rule: str, model: ModelConfig, split: int, resolved: Resolved) -> Iterator[Finding]:
    ranks = resolved.case.size("decode_context_parallel_size")
    heads = model.kv_heads
    if ranks > 1 and heads == 0 and rule == "DCP-HEADS":
        message = f"{model.model_type} has no attention layers for {ranks} context ranks; remove it"
        yield at_flag(rule, "decode_context_parallel_size", ranks, message)
    if ranks <= 1 or not heads or model.text.get("kv_lora_rank"):
        return
    per_head = (model.heads or heads) // heads
    if split <= heads or ranks > split // heads or per_head % ranks:
        whose = "" if rule == "DCP-HEADS" else "the draft's "
        message = f"{whose}tensor parallel size {split} with {heads} KV heads is too small for {ranks} context ranks"
        yield at_flag(rule, "decode_context_parallel_size", ranks, message)


def _draft(resolved: Resolved) -> Iterator[Finding]:
    if resolved.opens is None or resolved.word in WITHOUT_DRAFT:
        return
    size = resolved.value("draft_tensor_parallel_size")
    split = resolved.case.size("tensor_parallel_size")
    if size is not None and size not in (1, split):
        message = f"the draft's {size} must be 1 or the target's {split}"
        yield at_key("DRAFT-TP", "draft_tensor_parallel_size", size, message)
    elif size not in (None, split) and resolved.method == "draft_model" and not _newer(resolved):
        message = f"a draft model needs the target's {split}; remove the key"
        yield at_key("DRAFT-TP-EQUAL", "draft_tensor_parallel_size", size, message)
    elif size not in (None, split) and resolved.method in (*HEADS, "mtp"):
        message = f"{resolved.method} is split over the target's {split} devices whatever this is; remove it"
        yield at_key("DRAFT-TP-UNUSED", "draft_tensor_parallel_size", size, message)
    if resolved.draft is not None:
        yield from _split("draft", resolved.draft, size or split)
        yield from _decode_context("ASC-DCP", resolved.draft, size or split, resolved)


def _newer(resolved: Resolved) -> bool:
    """Whether the case may get the runner that splits the draft by itself."""
    return resolved.at_least("0.31") and runner(resolved) is not Runner.V1


def _piped_on_npus(resolved: Resolved) -> bool:
    """Whether vllm-ascend runs the head on its last stage: it does since 0.22.1, vLLM since 0.30."""
    release = resolved.case.build.ascend
    return release is not None and release >= Version(0, 22, 1) and resolved.method in ("eagle", "eagle3")


def _pipeline(resolved: Resolved) -> Iterator[Finding]:
    depth = resolved.case.size("pipeline_parallel_size")
    if depth <= 1:
        return
    if resolved.method == "extract_hidden_states":
        yield at_flag("PP-HIDDEN", "pipeline_parallel_size", depth, "use tensor parallelism")
    elif not resolved.at_least("0.30") and not _piped_on_npus(resolved):
        yield from _piped_draft(depth, resolved)
    known = ": mtp is reported broken (vLLM issue 49355)" if resolved.method == "mtp" else " in vLLM"
    message = (
        f"speculation over {depth} pipeline stages has known bugs{known}; use tensorParallelSize alone, or measure it "
        "against the service without speculation (`specdec measure`) before you serve"
    )
    yield at_flag("PP-RISK", "pipeline_parallel_size", depth, message)


def _piped_draft(depth: int, resolved: Resolved) -> Iterator[Finding]:
    """By the draft's architecture, else by the method: up to 0.29 no head that is a checkpoint of its own can."""
    if resolved.draft is not None:
        yield from _piped("PP-DRAFT", resolved.draft.architectures, resolved)
    elif resolved.method in HEADS:
        message = f"heads of {resolved.method} do not run with pipeline parallelism; use tensor parallelism"
        yield at_flag("PP-DRAFT", "pipeline_parallel_size", depth, message)
