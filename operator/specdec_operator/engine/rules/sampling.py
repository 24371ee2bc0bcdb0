"""How drafts are sampled and verified."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from specdec_operator.engine.rule import Finding
from specdec_operator.engine.rules.making import SPECULATIVE, noted, refused, stricter, warned
from specdec_operator.engine.runner import Runner, runner
from specdec_operator.engine.settled import Settled
from specdec_operator.engine.version import Flavor

ONE_OF: Final = refused(
    "SYNTHETIC-ONE", "Synthetic acceptance needs rates or a length, and not both.", SPECULATIVE, since="0.20"
)
LENGTH: Final = refused(
    "SYNTHETIC-COUNT", "There is one synthetic rate for each draft token.", SPECULATIVE, since="0.20"
)
RANGE: Final = refused("SYNTHETIC-RANGE", "Synthetic rates lie in [0, 1].", SPECULATIVE, since="0.20")
FALLING: Final = refused("SYNTHETIC-FALLING", "Synthetic rates do not rise.", SPECULATIVE, since="0.20")
MEAN: Final = refused("SYNTHETIC-LENGTH", "A synthetic length lies in [1, K+1].", SPECULATIVE, since="0.20")
ALONE: Final = refused(
    "SYNTHETIC-ALONE", "Synthetic rates work with rejection_sample_method synthetic only.", SPECULATIVE, since="0.20"
)
OLD_RATE: Final = refused(
    "SYNTHETIC-RATE", "In 0.19 the synthetic rate lies in [0, 1].", SPECULATIVE, since="0.19", until="0.19"
)
GARBAGE: Final = warned(
    "SYNTHETIC-OUTPUT", "Synthetic acceptance answers with garbage: it is for measuring.", SPECULATIVE, since="0.19"
)
BLOCK: Final = stricter(
    "BLOCK-RUNNER",
    "Block verification needs Model Runner V2; the older one verifies as usual and drops draft probabilities.",
    "v1/spec_decode/llm_base_proposer.py",
    since="0.25",
)
ARGMAX: Final = stricter(
    "ARGMAX-PROBABILISTIC",
    "A local argmax keeps no draft probabilities.",
    "raised by the speculator at start",
    since="0.22",
)
FLY_K: Final = refused("FLY-K", "fly needs at least two draft tokens.", SPECULATIVE, since="0.33")
FLY_WINDOW: Final = refused("FLY-WINDOW", "fly's window is smaller than K.", SPECULATIVE, since="0.33")
FLY_METHOD: Final = refused("FLY-METHOD", "fly does not verify extracted hidden states.", SPECULATIVE, since="0.33")
FLY_CPU: Final = refused(
    "FLY-CPU", "fly does not run on the CPU engine.", SPECULATIVE, since="0.33", on=(Flavor.VLLM_CPU,)
)
FLY_LOSSY: Final = warned("FLY-LOSSY", "fly changes what the target would have said.", SPECULATIVE, since="0.33")
LOST: Final = noted(
    "SAMPLING-LOST",
    "With speculation the server refuses requests with min_p or logit_bias.",
    "v1/engine/processor.py",
    since="0.14",
)
IGNORED: Final = noted(
    "SAMPLING-IGNORED", "With speculation min_p and logit_bias are ignored without a word.", "v1/sample", until="0.13"
)

RULES: Final = (
    ONE_OF,
    LENGTH,
    RANGE,
    FALLING,
    MEAN,
    ALONE,
    OLD_RATE,
    GARBAGE,
    BLOCK,
    ARGMAX,
    FLY_K,
    FLY_WINDOW,
    FLY_METHOD,
    FLY_CPU,
    FLY_LOSSY,
    LOST,
    IGNORED,
)

_METHOD: Final = "speculative_config.rejection_sample_method"
_RATES: Final = "speculative_config.synthetic_acceptance_rates"


def check(settled: Settled) -> Iterator[Finding]:
    """Verification, then the draft's own sampling, then what clients lose."""
    if not settled.speculates:
        return
    match settled.value("rejection_sample_method"):
        case "synthetic":
            yield from _synthetic(settled)
        case "fly":
            yield from _fly(settled)
        case "block" if runner(settled) is Runner.V1 and settled.method is not None:
            yield BLOCK.broken(_METHOD, "block", "remove it: this case gets the older runner")
    if settled.value("rejection_sample_method") != "synthetic":
        for key in ("synthetic_acceptance_rates", "synthetic_acceptance_length"):
            if settled.value(key) is not None:
                message = "set rejection_sample_method to synthetic, or remove it"
                yield ALONE.broken(f"speculative_config.{key}", settled.value(key), message)
    probabilistic = settled.value("draft_sample_method") == "probabilistic"
    if probabilistic and settled.value("use_local_argmax_reduction", False):
        field = "speculative_config.use_local_argmax_reduction"
        yield ARGMAX.broken(field, True, "remove it, or draft_sample_method")
    yield LOST.broken("requests", None, "clients that send min_p or logit_bias get HTTP 400")
    yield IGNORED.broken("requests", None, "clients that send min_p or logit_bias do not get what they ask for")


def _synthetic(settled: Settled) -> Iterator[Finding]:
    yield GARBAGE.broken(_METHOD, "synthetic", "use it for measurements only")
    rates, length = settled.value("synthetic_acceptance_rates"), settled.value("synthetic_acceptance_length")
    old = settled.value("synthetic_acceptance_rate")
    if old is not None and not 0 <= old <= 1:
        yield OLD_RATE.broken("speculative_config.synthetic_acceptance_rate", old, f"{old} is no rate")
    misread = {each.key for each in settled.reading.misread}
    if misread & {"synthetic_acceptance_rates", "synthetic_acceptance_length"}:
        return
    if (rates is None) == (length is None):
        yield ONE_OF.broken(_RATES, rates, "give synthetic_acceptance_rates or synthetic_acceptance_length")
    elif rates is not None:
        yield from _rates(rates, settled)
    elif settled.k is not None and not 1 <= length <= settled.k + 1:
        message = f"{length:g} does not lie in [1, {settled.k + 1}]"
        yield MEAN.broken("speculative_config.synthetic_acceptance_length", length, message)


def _rates(rates: list[float], settled: Settled) -> Iterator[Finding]:
    if settled.k is not None and len(rates) != settled.k:
        yield LENGTH.broken(_RATES, rates, f"there are {len(rates)} rates for {settled.k} draft tokens")
    if not all(0 <= rate <= 1 for rate in rates):
        yield RANGE.broken(_RATES, rates, "every rate lies between 0 and 1")
    if any(later > earlier for earlier, later in pairwise(rates)):
        yield FALLING.broken(_RATES, rates, "sort the rates, highest first")


def _fly(settled: Settled) -> Iterator[Finding]:
    k, window = settled.k, settled.value("fly_window_size")
    yield FLY_LOSSY.broken(_METHOD, "fly", "compare answers before you use it")
    yield FLY_CPU.broken(_METHOD, "fly", "use standard on the CPU engine")
    if k is not None and k < 2:
        yield FLY_K.broken(_METHOD, "fly", f"{k} is one too few")
    if k is not None and window is not None and window >= k:
        yield FLY_WINDOW.broken("speculative_config.fly_window_size", window, f"{window} is not below {k}")
    if settled.method == "extract_hidden_states":
        yield FLY_METHOD.broken(_METHOD, "fly", "use standard")
