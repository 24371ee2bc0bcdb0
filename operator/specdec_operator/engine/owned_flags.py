"""What a spec may not pass to the engine: flags that the operator renders from fields of the spec, and templates of
KServe's.
"""

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from specdec_engine.flags import kind, option
from specdec_engine.tables import cell_words, table
from specdec_operator.errors import Invalid

FLAGS: Final = (
    ("tensorParallelSize", "tensor_parallel_size"),
    ("pipelineParallelSize", "pipeline_parallel_size"),
    ("dataParallelSize", "data_parallel_size"),
    ("maxModelLen", "max_model_len"),
    ("maxNumSeqs", "max_num_seqs"),
    ("gpuMemoryUtilization", "gpu_memory_utilization"),
    ("enforceEager", "enforce_eager"),
)
"""Field below spec.engine, flag by its Python name; in the order in which they are rendered."""
OWNED_FLAGS: Final = (
    *("--model", "--served-model-name", "--port"),
    *("--speculative-config", "--spec-method", "--spec-model", "--spec-tokens"),
    *sorted((option(flag) for _, flag in FLAGS), key=lambda flag: flag != "--gpu-memory-utilization"),
    "--config",
)
"""Flags that the operator renders from fields of the spec, or that would hide others, and so refuses in engine.args."""
_OF_CONTAINER: Final = ("model", "speculation", "engine", "resources")
_TEMPLATE: Final = "{{"


@functools.cache
def _spellings() -> tuple[str, ...]:
    """The owned flags in every way to write one: with their short names, and switched off."""
    short = (f"-{short}" for short, name in table("flags")["short"].items() if option(name) in OWNED_FLAGS)
    switches = (
        option(f"no_{name}") for name in cell_words(table("flags")["kinds"]["bool"]) if option(name) in OWNED_FLAGS
    )
    return (*OWNED_FLAGS, *switches, *short)


def refuse_owned(args: Sequence[str]) -> None:
    """Raises Invalid for flags that the operator renders itself.

    The engine accepts them also as short names, with underscores, with dotted keys, and as the beginning of a name.
    Kubernetes inserts the values of variables. The CRD's rule covers fewer cases.
    """
    for index, arg in enumerate(args):
        if objection := _objection(arg, args[index - 1] if index else None):
            raise Invalid(f"spec.engine.args[{index}]", arg, objection)


def refuse_templates(spec: Mapping[str, Any]) -> None:
    """Raises Invalid for text of the engine's container that KServe would expand as a template."""
    for part in _OF_CONTAINER:
        for path, text in _texts(spec.get(part), f"spec.{part}"):
            if _TEMPLATE in text:
                raise Invalid(path, text, "KServe expands {{ }} as a template; remove it")


def _objection(arg: str, before: str | None) -> str:
    """Why one word of the command line is refused; empty if it is not."""
    flag = arg.partition("=")[0]
    if not arg.startswith("-"):
        return _objection_to_value(arg, before)
    if "$(" in flag:
        return "Kubernetes would expand this to the name of a flag; write the flag without variables"
    name = flag.partition(".")[0]
    name = name.replace("_", "-") if name.startswith("--") else name
    if name in _spellings():
        return "the operator renders this flag from the spec; use its field"
    if not _is_flag(name) and (short := next((each for each in _spellings() if each.startswith(name)), "")):
        return f"the engine reads it as {short}, which the operator renders from the spec; use full names"
    return ""


def _objection_to_value(arg: str, before: str | None) -> str:
    """Why a word that is not a flag is refused: it must be the value of the word before it, and must not become a
    flag.
    """
    if before is None or (before.startswith("-") and ("=" in before or _is_switch(before))):
        return "this is not a flag and not a value; write --flag=value"
    if "$(" in arg:
        return "Kubernetes inserts a value, which could be a flag; write --flag=$(NAME)"
    return ""


def _is_flag(name: str) -> bool:
    """Whether some release has a flag of exactly this name."""
    bare = name.lstrip("-")
    return bare in table("flags")["short"] or any(
        bare.replace("-", "_") in cell_words(cell) for cell in table("flags")["flags"].values()
    )


def _is_switch(flag: str) -> bool:
    return kind(flag.lstrip("-").replace("-", "_").removeprefix("no_")) == "bool"


def _texts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Every text in a value, keys too, with its path."""
    match value:
        case str():
            yield path, value
        case dict():
            for key, inner in value.items():
                yield f"{path}.{key}", f"{key}"
                yield from _texts(inner, f"{path}.{key}")
        case list():
            for index, inner in enumerate(value):
                yield from _texts(inner, f"{path}[{index}]")
