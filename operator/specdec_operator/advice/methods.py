"""Every method of the API, for people. What the engine asks of each is in its rules; this says what it is good for."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from specdec_operator.advice.drafts import DFLASH, DRAFT_MODEL, DSPARK
from specdec_operator.advice.facts import MethodAdvice, Release
from specdec_operator.advice.heads import EAGLE, EAGLE3, MTP
from specdec_operator.advice.legacy import MEDUSA, MLP_SPECULATOR
from specdec_operator.advice.lookups import NGRAM, NGRAM_GPU, SUFFIX
from specdec_operator.advice.others import CUSTOM_CLASS, EXTRACT_HIDDEN_STATES
from specdec_operator.engine.tables import table
from specdec_operator.engine.version import Build, Flavor, holds

METHODS: Final[Mapping[str, MethodAdvice]] = MappingProxyType(
    {
        each.method: each
        for each in (
            MTP,
            EAGLE3,
            EAGLE,
            DFLASH,
            DSPARK,
            DRAFT_MODEL,
            NGRAM,
            NGRAM_GPU,
            SUFFIX,
            MEDUSA,
            EXTRACT_HIDDEN_STATES,
            CUSTOM_CLASS,
            MLP_SPECULATOR,
        )
    }
)
"""By the word that the spec uses; those that one would try first come first."""
_OTHER_WORDS: Final = MappingProxyType(
    {
        "p_eagle": "eagle3",
        "peagle": "eagle3",
        "eagle2": "eagle",
        "pard": "draft_model",
        "draft": "draft_model",
        "prompt_lookup": "ngram",
        "mlp": "mlp_speculator",
    }
)
"""What people say that vLLM does not take as a method."""
_MTP_WORDS: Final = frozenset(
    word for word, known in table("methods")["methods"].items() if known.get("alias_of") == "mtp"
)
"""vLLM's old names of MTP, such as deepseek_mtp."""
WORDS: Final = (*METHODS, *_OTHER_WORDS, *sorted(_MTP_WORDS))
"""Everything that `named` understands."""


def named(word: str) -> MethodAdvice | None:
    """The method that a word means, if it means one."""
    asked = word.strip().lower().replace("-", "_")
    return METHODS.get("mtp" if asked in _MTP_WORDS else _OTHER_WORDS.get(asked, asked))


def release_for(advice: MethodAdvice, flavor: Flavor) -> Release | None:
    """Which releases of an engine run the method; None where none does."""
    return next((each for each in advice.releases if each.flavor is flavor), None)


def runs_on(advice: MethodAdvice, build: Build) -> bool:
    """Whether an engine runs the method."""
    release = release_for(advice, build.flavor)
    if release is None:
        return False
    return holds(build.ascend or build.vllm, release.since, release.until)
