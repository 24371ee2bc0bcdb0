"""Asynchronous scheduling, where it was asked for."""

from collections.abc import Iterator
from typing import Final

from specdec_operator.engine import flags
from specdec_operator.engine.rule import Finding
from specdec_operator.engine.rules.making import noted, refused
from specdec_operator.engine.runner import Runner, runner
from specdec_operator.engine.settled import Settled
from specdec_operator.engine.version import Flavor, holds

_VLLM: Final = "config/vllm.py"

METHOD: Final = refused(
    "ASYNC-METHOD", "Asynchronous scheduling, asked for, runs with some methods only.", _VLLM, until="0.32"
)
NEWER: Final = refused(
    "ASYNC-RUNNER", "Since 0.33 only the older runner refuses asynchronous scheduling.", _VLLM, since="0.33"
)
UNPADDED: Final = refused(
    "ASYNC-UNPADDED", "Asynchronous scheduling needs a padded drafter batch.", _VLLM, until="0.32"
)
ALL_0_11: Final = refused(
    "ASYNC-NONE", "Up to 0.11.0 there is no asynchronous scheduling with speculation.", _VLLM, until="0.11.0"
)
PIPELINE: Final = refused(
    "ASYNC-PP", "In 0.11 asynchronous scheduling does not run with pipeline parallelism.", _VLLM, until="0.11"
)
PIPELINE_V1: Final = refused(
    "ASYNC-PP-RUNNER",
    "Since 0.32 the older runner does not schedule a pipeline asynchronously.",
    _VLLM,
    since="0.32",
    on=(Flavor.VLLM, Flavor.VLLM_ASCEND),
)
OFF: Final = noted("ASYNC-OFF", "The engine turns asynchronous scheduling off with this method.", _VLLM, since="0.12")

RULES: Final = (METHOD, NEWER, UNPADDED, ALL_0_11, PIPELINE, PIPELINE_V1, OFF)

_FIELD: Final = "args.async_scheduling"
_ALWAYS: Final = frozenset(("eagle", "eagle3", "mtp", "extract_hidden_states", "dflash", "dspark"))


def check(settled: Settled) -> Iterator[Finding]:
    """Explicit wishes first; then what happens by itself."""
    asked = settled.case.args.get("async_scheduling")
    if asked is True:
        yield from _asked(settled)
    elif asked is None and settled.speculates and settled.method and not _runs(settled):
        yield OFF.broken(_FIELD, None, f"{settled.method} is scheduled synchronously")


def _asked(settled: Settled) -> Iterator[Finding]:
    piped = (flags.size(settled.case, "pipeline_parallel_size") or 1) > 1
    if piped:
        yield PIPELINE.broken(_FIELD, True, "remove --async-scheduling")
    if piped and runner(settled) is Runner.V1:
        yield PIPELINE_V1.broken(_FIELD, True, "remove --async-scheduling")
    if not settled.speculates or not settled.method:
        return
    yield ALL_0_11.broken(_FIELD, True, "remove --async-scheduling")
    if not _runs(settled):
        rule = NEWER if settled.at_least("0.33") else METHOD
        yield rule.broken(_FIELD, True, f"{settled.method} is scheduled synchronously; remove --async-scheduling")
    if settled.value("disable_padded_drafter_batch", False):
        yield UNPADDED.broken(_FIELD, True, "remove --async-scheduling, or disable_padded_drafter_batch")


def _runs(settled: Settled) -> bool:
    """Whether the method can be scheduled asynchronously."""
    method = settled.method
    if settled.at_least("0.33"):
        return method in (*_ALWAYS, "ngram_gpu", "draft_model") or runner(settled) is not Runner.V1
    if method == "draft_model":
        return settled.at_least("0.16")
    return method in _ALWAYS or (method == "ngram_gpu" and holds(settled.version, "0.18"))
