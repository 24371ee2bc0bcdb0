"""How drafts are sampled and verified."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from specdec_engine.model_runner import Runner, runner
from specdec_engine.resolve import Resolved
from specdec_engine.rule import Finding, at_key, broken

_METHOD: Final = "speculative_config.rejection_sample_method"
_RATES: Final = "speculative_config.synthetic_acceptance_rates"


def check(resolved: Resolved) -> Iterator[Finding]:
    """Verification, then the draft's own sampling, then what clients lose."""
    if not resolved.speculates:
        return
    match resolved.value("rejection_sample_method"):
        case "synthetic":
            yield from _synthetic(resolved)
        case "fly":
            yield from _fly(resolved)
        case "block" if runner(resolved) is Runner.V1 and resolved.method is not None:
            yield broken(
                "BLOCK-RUNNER", _METHOD, "block", "remove it, because this configuration runs on the older runner"
            )
    if resolved.value("rejection_sample_method") != "synthetic":
        for key in ("synthetic_acceptance_rates", "synthetic_acceptance_length"):
            if resolved.value(key) is not None:
                message = "set rejection_sample_method to synthetic, or remove it"
                yield at_key("SYNTHETIC-ALONE", key, resolved.value(key), message)
    probabilistic = resolved.value("draft_sample_method") == "probabilistic"
    if probabilistic and resolved.value("use_local_argmax_reduction", False):
        yield at_key("ARGMAX-PROBABILISTIC", "use_local_argmax_reduction", True, "remove it, or draft_sample_method")
    yield broken("SAMPLING-LOST", "requests", None, "clients that send min_p or logit_bias get HTTP 400")
    yield broken("SAMPLING-IGNORED", "requests", None, "the engine ignores min_p and logit_bias of clients")


def _synthetic(resolved: Resolved) -> Iterator[Finding]:
    yield broken(
        "SYNTHETIC-OUTPUT",
        _METHOD,
        "synthetic",
        "the answers are not valid, so use it for measurements only; remove it in a service",
    )
    rates, length = resolved.value("synthetic_acceptance_rates"), resolved.value("synthetic_acceptance_length")
    old = resolved.value("synthetic_acceptance_rate")
    if old is not None and not 0 <= old <= 1:
        yield at_key("SYNTHETIC-RATE", "synthetic_acceptance_rate", old, f"{old} is not a rate")
    if resolved.reading.misreads("synthetic_acceptance_rates", "synthetic_acceptance_length"):
        return
    if (rates is None) == (length is None):
        yield broken("SYNTHETIC-ONE", _RATES, rates, "set synthetic_acceptance_rates or synthetic_acceptance_length")
    elif rates is not None:
        yield from _rates(rates, resolved)
    elif resolved.k is not None and not 1 <= length <= resolved.k + 1:
        message = f"{length:g} is not in [1, {resolved.k + 1}]"
        yield at_key("SYNTHETIC-LENGTH", "synthetic_acceptance_length", length, message)


def _rates(rates: list[float], resolved: Resolved) -> Iterator[Finding]:
    if resolved.k is not None and len(rates) != resolved.k:
        yield broken("SYNTHETIC-COUNT", _RATES, rates, f"there are {len(rates)} rates for {resolved.k} draft tokens")
    if not all(0 <= rate <= 1 for rate in rates):
        yield broken("SYNTHETIC-RANGE", _RATES, rates, "each rate must be between 0 and 1")
    if any(later > earlier for earlier, later in pairwise(rates)):
        yield broken("SYNTHETIC-FALLING", _RATES, rates, "sort the rates, highest first")


def _fly(resolved: Resolved) -> Iterator[Finding]:
    k, window = resolved.k, resolved.value("fly_window_size")
    yield broken(
        "FLY-LOSSY",
        _METHOD,
        "fly",
        "the answers differ from those of the target; compare them before you use it, or use standard",
    )
    yield broken("FLY-CPU", _METHOD, "fly", "use standard on the CPU engine")
    if k is not None and k < 2:
        yield broken("FLY-K", _METHOD, "fly", f"{k} is too small; use at least 2")
    if k is not None and window is not None and window >= k:
        yield at_key("FLY-WINDOW", "fly_window_size", window, f"{window} is not below {k}")
    if resolved.method == "extract_hidden_states":
        yield broken("FLY-METHOD", _METHOD, "fly", "use standard")
