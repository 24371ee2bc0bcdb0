"""The methods of speculation as every vLLM knows them: what each one loads, how it is named, how far it drafts."""

from __future__ import annotations

from typing import Final

LOOKUPS: Final = ("ngram", "ngram_gpu", "suffix")
"""Methods that guess from text and load nothing on the device."""
WITHOUT_DRAFT: Final = (*LOOKUPS, "extract_hidden_states", "custom_class")
"""Methods for which the engine opens no second model: their `model` is a word or a module of Python."""
HEADS: Final = ("eagle", "eagle3", "medusa", "dflash")
"""Methods whose draft is always a checkpoint of its own, a head on the target's hidden states."""
WITH_DRAFT: Final = ("draft_model", *HEADS)
"""Methods that cannot run without a second model."""
PATH_METHODS: Final = (("eagle-", "eagle"), ("eagle3", "eagle3"), ("dflash", "dflash"), ("dspark", "dspark"))
"""Parts of a draft's path by which vLLM takes another method than was asked for; the first one decides."""

SUFFIX_TREE_DEPTH: Final = 24
"""The default of suffix_decoding_max_tree_depth; also the default K of suffix."""
MOST_TOKENS: Final = 128
"""The largest K: what the sampler has room for."""
NPU_MOST_TOKENS: Final = 15
"""The largest K on Ascend NPUs, whose attention operator takes 1 + K <= 16 tokens of a request."""


def plain_name(word: str) -> str:
    """The method by its one name: deepseek_mtp and its kin are mtp."""
    return "mtp" if word.endswith("_mtp") else word


def head_name(method: str, architecture: str) -> str:
    """The name under which vLLM looks up the architecture of a draft."""
    match method:
        case "eagle":
            return architecture if architecture.startswith("Eagle") else f"Eagle{architecture}"
        case "eagle3":
            named = architecture.startswith("Eagle3") or architecture.endswith("Eagle3")
            return architecture if named else f"Eagle3{architecture}"
        case "dflash":
            named = architecture.startswith("DFlash") or architecture.endswith("DFlash")
            return architecture if named or architecture == "LiLiCorrDraftModel" else f"DFlash{architecture}"
    return architecture
