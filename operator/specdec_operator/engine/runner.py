"""Which of the engine's two model runners a case gets: they accept different settings, silently."""

from enum import StrEnum
from typing import Final

from specdec_operator.engine import flags
from specdec_operator.engine.settled import Settled
from specdec_operator.engine.tables import known
from specdec_operator.engine.version import Flavor, holds

VARIABLE: Final = "VLLM_USE_V2_MODEL_RUNNER"


class Runner(StrEnum):
    """The older runner, and Model Runner V2."""

    V1 = "V1"
    V2 = "V2"


def forced(settled: Settled) -> Runner | None:
    """What the environment asks for."""
    asked = settled.case.env.get(VARIABLE)
    if asked is None:
        return None
    return Runner.V2 if asked not in ("", "0") else Runner.V1


def runner(settled: Settled) -> Runner | None:
    """The runner that runs the case; None where that depends on what is not known."""
    if (asked := forced(settled)) is not None:
        return asked
    if settled.case.build.flavor is not Flavor.VLLM:
        return Runner.V1
    if settled.method == "dspark":
        return Runner.V2
    if not settled.at_least("0.22") or lacking(settled):
        return Runner.V1
    if settled.at_least("0.29"):
        return Runner.V2
    return _by_model(settled) if settled.at_least("0.25") else None


def _by_model(settled: Settled) -> Runner | None:
    """0.25 to 0.28 choose by the model: all that are dense and not recurrent, and some others."""
    target = settled.target
    if target is None or target.experts:
        return None
    named = target.architectures
    recurrent = any(known("architectures", "recurrent", each, settled.version) is not False for each in named)
    return Runner.V2 if named and not recurrent else None


def lacking(settled: Settled) -> list[str]:
    """What Model Runner V2 of the version cannot do with the case."""
    found = []
    if settled.speculates and settled.method and settled.method not in _methods(settled):
        found.append(f"the method {settled.method}")
    parallel = settled.value("parallel_drafting", False) and settled.method not in ("dflash", "dspark")
    if settled.speculates and parallel:
        found.append("parallel drafting")
    if settled.value("use_heterogeneous_vocab", False) and settled.at_least("0.31"):
        found.append("drafts with another vocabulary")
    piped = (flags.size(settled.case, "pipeline_parallel_size") or 1) > 1
    if settled.method == "eagle3" and piped and holds(settled.version, "0.22", "0.29"):
        found.append("eagle3 with pipeline parallelism")
    if settled.value("num_speculative_tokens_per_batch_size") is not None and holds(settled.version, "0.24", "0.24"):
        found.append("a schedule of draft tokens")
    return found


_SINCE: Final = (
    ("", ("eagle", "eagle3", "mtp")),
    ("0.24", ("dflash",)),
    ("0.25", ("dspark",)),
    ("0.29", ("extract_hidden_states",)),
    ("0.31", ("draft_model",)),
    ("0.32", ("ngram", "ngram_gpu")),
)


def _methods(settled: Settled) -> set[str]:
    return {method for since, methods in _SINCE if holds(settled.version, since) for method in methods}
