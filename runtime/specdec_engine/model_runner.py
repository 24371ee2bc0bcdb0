"""Which of the engine's two model runners a case gets: they accept different settings, silently, and count memory
differently."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from specdec_engine.case import Case, Json
from specdec_engine.resolve import Resolved, resolve
from specdec_engine.shape import read_shape, text_config
from specdec_engine.tables import in_release
from specdec_engine.version import Flavor, Version, holds

VARIABLE: Final = "VLLM_USE_V2_MODEL_RUNNER"


class Runner(StrEnum):
    """The older runner, and Model Runner V2."""

    V1 = "V1"
    V2 = "V2"


def forced(resolved: Resolved) -> Runner | None:
    """What the environment asks for."""
    value = resolved.case.env.get(VARIABLE)
    if value is None:
        return None
    return Runner.V2 if value not in ("", "0") else Runner.V1


def runner(resolved: Resolved) -> Runner | None:
    """The runner that runs the case; None where that depends on what is not known."""
    if (chosen := forced(resolved)) is not None:
        return chosen
    if resolved.case.build.flavor is not Flavor.VLLM:
        return Runner.V1
    if resolved.method == "dspark":
        return Runner.V2
    if not resolved.at_least("0.22") or lacking(resolved):
        return Runner.V1
    if resolved.at_least("0.29"):
        return Runner.V2
    return Runner.V2 if resolved.at_least("0.25") and _is_dense(resolved) else None


def _is_dense(resolved: Resolved) -> bool:
    """Whether the target certainly has no experts and no recurrent state: targets without them use V2 in 0.25 to
    0.28.
    """
    named = resolved.target.architectures if resolved.target is not None and not resolved.target.experts else ()
    plain = (in_release("architectures", "recurrent", each, resolved.version) is False for each in named)
    return bool(named) and all(plain)


def lacking(resolved: Resolved) -> list[str]:
    """What Model Runner V2 of the version cannot do with the case."""
    lacks = []
    if resolved.speculates and resolved.method and resolved.method not in _methods(resolved):
        lacks.append(f"the method {resolved.method}")
    parallel = resolved.value("parallel_drafting", False) and resolved.method not in ("dflash", "dspark")
    if resolved.speculates and parallel:
        lacks.append("parallel drafting")
    if resolved.value("use_heterogeneous_vocab", False) and resolved.at_least("0.31"):
        lacks.append("drafts with another vocabulary")
    piped = resolved.case.size("pipeline_parallel_size") > 1
    if resolved.method == "eagle3" and piped and holds(resolved.version, "0.22", "0.29"):
        lacks.append("eagle3 with pipeline parallelism")
    if resolved.value("num_speculative_tokens_per_batch_size") is not None and holds(resolved.version, "0.24", "0.24"):
        lacks.append("a schedule of draft tokens")
    return lacks


_SINCE: Final = (
    ("", ("eagle", "eagle3", "mtp")),
    ("0.24", ("dflash",)),
    ("0.25", ("dspark",)),
    ("0.29", ("extract_hidden_states",)),
    ("0.31", ("draft_model",)),
    ("0.32", ("ngram", "ngram_gpu")),
)


def _methods(resolved: Resolved) -> set[str]:
    return {method for since, methods in _SINCE if holds(resolved.version, since) for method in methods}


# vllm/config/vllm.py: DEFAULT_V2_MODEL_RUNNER_ARCHITECTURES and _is_default_v2_model_runner_model.
_DENSE_SINCE: Final[Mapping[str, int]] = MappingProxyType(
    {"Qwen3ForCausalLM": 22, "LlamaForCausalLM": 23, "MistralForCausalLM": 23}
)
"""Dense architectures on the second runner before 0.25; before 0.24 only unquantised."""
_SPARSE_SINCE: Final[Mapping[str, int]] = MappingProxyType(
    {"DeepseekV2ForCausalLM": 24, "Qwen2MoeForCausalLM": 24, "GraniteMoeForCausalLM": 24}
    | {"InklingForCausalLM": 26, "LongcatFlashNgramForCausalLM": 26, "KimiK3ForCausalLM": 27}
    | {"DeepseekV4ForCausalLM": 28}
)
"""Architectures with experts on the second runner before 0.29."""


def runner_of(case: Case) -> Runner:
    """The runner for a case; an unknown target is taken for an ordinary dense one."""
    if (certain := runner(resolve(case))) is not None:
        return certain
    config = case.target.config if case.target is not None else None
    return Runner.V2 if _is_default(case.build.vllm, text_config(config or {})) else Runner.V1


def _is_default(version: Version, config: Json) -> bool:
    """Whether the second runner is this version's choice for a model."""
    names = config.get("architectures")
    architectures = names if isinstance(names, list) else []
    if any(_since(_SPARSE_SINCE, name, version) for name in architectures):
        return True
    shape = read_shape(config)
    plain = shape is None or (shape.experts is None and shape.full + shape.windowed == shape.layers)
    if version >= Version(0, 25):
        return plain
    fit = plain and ("quantization_config" not in config or version >= Version(0, 24))
    return fit and any(_since(_DENSE_SINCE, name, version) for name in architectures)


def _since(table: Mapping[str, int], name: object, version: Version) -> bool:
    return isinstance(name, str) and name in table and version >= Version(0, table[name])
