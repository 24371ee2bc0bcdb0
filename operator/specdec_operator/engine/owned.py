"""What a spec may not say to the engine: flags that are the operator's own, and templates of KServe's."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from specdec_operator.engine.tables import table, words
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
_OF_CONTAINER: Final = ("model", "speculation", "engine", "resources")
_SPELLINGS: Final = (*OWNED_FLAGS, "--no-enforce-eager", "-sc", "-tp", "-pp", "-dp")
_TEMPLATE: Final = "{{"


def refuse_owned(args: Sequence[str]) -> None:
    """Raises Invalid for flags that the operator renders itself.

    The engine takes short names, underscores, dotted keys and beginnings of a name for them too, and Kubernetes puts
    values of variables in, which is more than the CRD's rule says.
    """
    for index, arg in enumerate(args):
        if objection := _objection(arg, args[index - 1] if index else None):
            raise Invalid(f"spec.engine.args[{index}]", arg, objection)


def refuse_templates(spec: Mapping[str, Any]) -> None:
    """Raises Invalid for text of the engine's container that KServe would expand as a template."""
    for part in _OF_CONTAINER:
        for path, text in _texts(spec.get(part), f"spec.{part}"):
            if _TEMPLATE in text:
                raise Invalid(path, text, "KServe expands {{ }} as a template; write it without")


def _objection(arg: str, before: str | None) -> str:
    """What is to be said against one word of the line; empty where nothing is."""
    flag = arg.partition("=")[0]
    if not arg.startswith("-"):
        return _objection_to_value(arg, before)
    if "$(" in flag:
        return "Kubernetes would put the name of a flag together; write it out"
    name = flag.partition(".")[0]
    name = name.replace("_", "-") if name.startswith("--") else name
    if name in _SPELLINGS:
        return "the operator renders this flag from the spec; use its field"
    if not _is_flag(name) and (short := next((each for each in _SPELLINGS if each.startswith(name)), "")):
        return f"the engine takes it for {short}, which the operator renders from the spec; write names out"
    return ""


def _objection_to_value(arg: str, before: str | None) -> str:
    """Of a word that is no flag: it must be the value of the one before, and nothing that becomes a flag."""
    if before is None or (before.startswith("-") and ("=" in before or _is_switch(before))):
        return "this is no flag, and no value of one; write --flag=value"
    if "$(" in arg:
        return "Kubernetes puts a value in, which may be a flag; write --flag=$(NAME)"
    return ""


def _is_flag(name: str) -> bool:
    """Whether some release has a flag of just this name."""
    bare = name.lstrip("-")
    return bare in table("flags")["short"] or any(
        bare.replace("-", "_") in words(cell) for cell in table("flags")["flags"].values()
    )


def _is_switch(flag: str) -> bool:
    return flag.lstrip("-").replace("-", "_").removeprefix("no_") in words(table("flags")["kinds"]["bool"])


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
