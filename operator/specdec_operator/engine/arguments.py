"""The vLLM flags of a service, plain, in a fixed order, so that equal wishes render equally."""

import json

from specdec_operator.api.spec import OWNED_FLAGS, Engine, Method, Speculation
from specdec_operator.errors import Invalid


def speculative_config(speculation: Speculation, draft_path: str | None) -> str:
    """The value of --speculative-config: JSON with sorted keys."""
    config: dict[str, object] = {
        "method": speculation.method.value,
        "num_speculative_tokens": speculation.tokens,
    }
    if speculation.method is Method.DRAFT_MODEL:
        config["model"] = draft_path
    elif speculation.ngram is not None:
        config["prompt_lookup_min"] = speculation.ngram.lookup_min
        config["prompt_lookup_max"] = speculation.ngram.lookup_max
    return json.dumps(config, sort_keys=True, separators=(",", ":"))


def arguments(
    engine: Engine,
    *,
    served_name: str,
    target_path: str,
    speculation: Speculation | None,
    draft_path: str | None,
) -> tuple[str, ...]:
    """All flags but those of the runtime (--port)."""
    flags = [f"--model={target_path}", f"--served-model-name={served_name}"]
    if engine.max_model_len is not None:
        flags.append(f"--max-model-len={engine.max_model_len}")
    if engine.max_num_seqs is not None:
        flags.append(f"--max-num-seqs={engine.max_num_seqs}")
    if engine.gpu_memory_utilization is not None:
        flags.append(f"--gpu-memory-utilization={engine.gpu_memory_utilization:g}")
    if engine.enforce_eager:
        flags.append("--enforce-eager")
    flags.extend(engine.args or ())
    if speculation is not None:
        flags.append(f"--speculative-config={speculative_config(speculation, draft_path)}")
    return tuple(flags)


def refuse_owned(args: list[str] | None) -> None:
    """Raises Invalid for flags that the operator renders itself.

    vLLM takes `-sc`, underscores and dotted keys for them too, which is more than the CRD's rule says.
    """
    for index, arg in enumerate(args or ()):
        flag = arg.split("=", 1)[0].replace("_", "-")
        if flag in OWNED_FLAGS or flag == "-sc" or flag.startswith("--speculative-config."):
            raise Invalid(
                f"spec.engine.args[{index}]",
                arg,
                "the operator renders this flag from the spec; use its field",
            )
        if "{{" in arg:
            raise Invalid(f"spec.engine.args[{index}]", arg, "KServe expands {{ }} as a template; write it without")
