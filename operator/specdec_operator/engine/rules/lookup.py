"""Methods that draft from text they have seen: ngram and suffix."""

from collections.abc import Iterator
from typing import Final

from specdec_operator.engine.rule import Finding
from specdec_operator.engine.rules.making import SPECULATIVE, noted, refused, warned
from specdec_operator.engine.settled import Settled

WINDOW: Final = refused("NGRAM-WINDOW", "prompt_lookup_min is at most prompt_lookup_max.", SPECULATIVE)
NUMBA: Final = noted(
    "NGRAM-NUMBA", "ngram compiles its search with numba at start.", "v1/spec_decode/ngram_proposer.py"
)
PACKAGE: Final = refused(
    "SUFFIX-PACKAGE", "suffix needs the Python package arctic-inference in the image.", SPECULATIVE, since="0.11.2"
)
DEPTH: Final = refused("SUFFIX-DEPTH", "The suffix tree is at least one token deep.", SPECULATIVE)
CACHED: Final = refused("SUFFIX-CACHED", "The number of cached requests is zero or more.", SPECULATIVE)
FACTOR: Final = refused("SUFFIX-FACTOR", "The factor on the matched length is zero or more.", SPECULATIVE)
PROBABILITY: Final = refused("SUFFIX-PROBABILITY", "The least token probability lies in [0, 1].", SPECULATIVE)
IDLE: Final = warned(
    "SUFFIX-IDLE", "A factor of zero never drafts.", "arctic_inference: max_spec_factor * match length"
)
CONFIG: Final = refused(
    "SUFFIX-CONFIG", "suffix stops over a `draft_model_config` that was sent.", "recorded code path of _verify_args"
)

RULES: Final = (WINDOW, NUMBA, PACKAGE, DEPTH, CACHED, FACTOR, PROBABILITY, IDLE, CONFIG)


def check(settled: Settled) -> Iterator[Finding]:
    """By method."""
    if settled.word in ("ngram", "ngram_gpu"):
        yield from _ngram(settled)
    elif settled.word == "suffix":
        yield from _suffix(settled)


def _ngram(settled: Settled) -> Iterator[Finding]:
    least, most = settled.value("prompt_lookup_min"), settled.value("prompt_lookup_max")
    if least is not None and most is not None and least > most:
        message = f"prompt_lookup_min {least} is above prompt_lookup_max {most}"
        yield WINDOW.broken("speculative_config.prompt_lookup_min", least, message)
    if settled.word == "ngram":
        yield NUMBA.broken("speculative_config.method", "ngram", "the image needs numba; the first start is slower")


def _suffix(settled: Settled) -> Iterator[Finding]:
    packages = settled.case.packages
    if packages is not None and "arctic_inference" not in packages:
        message = "use an image with arctic-inference==0.1.1, or ngram"
        yield PACKAGE.broken("speculative_config.method", "suffix", message)
    depth = settled.value("suffix_decoding_max_tree_depth", 24)
    if depth < 1:
        yield DEPTH.broken("speculative_config.suffix_decoding_max_tree_depth", depth, f"{depth} is below 1")
    cached = settled.value("suffix_decoding_max_cached_requests", 0)
    if cached < 0:
        yield CACHED.broken("speculative_config.suffix_decoding_max_cached_requests", cached, f"{cached} is below 0")
    factor = settled.value("suffix_decoding_max_spec_factor", 1.0)
    if factor < 0:
        yield FACTOR.broken("speculative_config.suffix_decoding_max_spec_factor", factor, f"{factor} is below 0")
    elif factor == 0:
        yield IDLE.broken("speculative_config.suffix_decoding_max_spec_factor", factor, "set it above 0; 1 is usual")
    least = settled.value("suffix_decoding_min_token_prob", 0.1)
    if not 0 <= least <= 1:
        message = f"{least} is no probability"
        yield PROBABILITY.broken("speculative_config.suffix_decoding_min_token_prob", least, message)
    if config := settled.value("draft_model_config"):
        yield CONFIG.broken("speculative_config.draft_model_config", config, "remove it")
