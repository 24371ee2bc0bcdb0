"""Which of the engine's two model runners serves a case; what is counted as memory differs between them.

Where the rules cannot tell, because the version chooses by a model that is not known, the usual one is taken.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from specdec_operator.engine.case import Case, Json
from specdec_operator.engine.memory.shape import read_shape, text_config
from specdec_operator.engine.runner import Runner, runner
from specdec_operator.engine.settled import settle
from specdec_operator.engine.version import Version

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
_EVERY_DENSE: Final = Version(0, 25)
_EVERY_MODEL: Final = Version(0, 29)


def runner_of(case: Case) -> Runner:
    """The runner for a case; an unknown target is taken for an ordinary dense one."""
    if (known := runner(settle(case))) is not None:
        return known
    config = case.target.config if case.target is not None else None
    return Runner.V2 if _is_default(case.build.vllm, text_config(config or {})) else Runner.V1


def _is_default(version: Version, config: Json) -> bool:
    """Whether the second runner is this version's choice for a model."""
    names = config.get("architectures")
    architectures = names if isinstance(names, list) else []
    if version >= _EVERY_MODEL:
        return True
    if any(_since(_SPARSE_SINCE, name, version) for name in architectures):
        return True
    shape = read_shape(config)
    plain = shape is None or (shape.experts is None and shape.full + shape.windowed == shape.layers)
    if version >= _EVERY_DENSE:
        return plain
    fit = plain and ("quantization_config" not in config or version >= Version(0, 24))
    return fit and any(_since(_DENSE_SINCE, name, version) for name in architectures)


def _since(table: Mapping[str, int], name: object, version: Version) -> bool:
    return isinstance(name, str) and name in table and version >= Version(0, table[name])
