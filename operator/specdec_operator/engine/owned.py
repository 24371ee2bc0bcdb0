"""Flags that are the operator's own."""

from collections.abc import Sequence
from typing import Final

from specdec_operator.errors import Invalid

OWNED_FLAGS: Final = (
    "--model",
    "--served-model-name",
    "--port",
    "--speculative-config",
    "--spec-method",
    "--spec-model",
    "--spec-tokens",
    "--gpu-memory-utilization",
    "--tensor-parallel-size",
    "--pipeline-parallel-size",
    "--data-parallel-size",
    "--max-model-len",
    "--max-num-seqs",
    "--enforce-eager",
    "--config",
)
"""Flags that the operator renders from fields of the spec, or that would hide others, and so refuses in engine.args."""
_SHORT: Final = frozenset({"-sc", "-tp", "-pp", "-dp"})
_ALSO_OWNED: Final = frozenset({"--no-enforce-eager"})


def refuse_owned(args: Sequence[str]) -> None:
    """Raises Invalid for flags that the operator renders itself.

    vLLM takes short names, underscores and dotted keys for them too, which is more than the CRD's rule says.
    """
    for index, arg in enumerate(args):
        flag = arg.split("=", 1)[0].replace("_", "-")
        if flag in OWNED_FLAGS or flag in _SHORT or flag in _ALSO_OWNED or flag.startswith("--speculative-config."):
            raise Invalid(
                f"spec.engine.args[{index}]",
                arg,
                "the operator renders this flag from the spec; use its field",
            )
        if "{{" in arg:
            raise Invalid(f"spec.engine.args[{index}]", arg, "KServe expands {{ }} as a template; write it without")
