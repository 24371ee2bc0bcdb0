"""What guesses the next tokens: the method, its draft, and how its guesses are verified."""

from enum import StrEnum
from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema

from specdec_engine.methods import MOST_TOKENS, WITH_DRAFT, WITHOUT_DRAFT
from specdec_engine.tables import table
from specdec_operator.api.method_options import AscendRejection, BatchStep, Draft, HiddenStates, Ngram, Suffix
from specdec_operator.api.types import Free, Part, rule, rules
from specdec_operator.staging.schemes import listed


class Method(StrEnum):
    """How the next tokens are guessed. The words are vLLM's."""

    DRAFT_MODEL = "draft_model"
    NGRAM = "ngram"
    NGRAM_GPU = "ngram_gpu"
    SUFFIX = "suffix"
    MEDUSA = "medusa"
    EAGLE = "eagle"
    EAGLE3 = "eagle3"
    MTP = "mtp"
    DFLASH = "dflash"
    DSPARK = "dspark"
    EXTRACT_HIDDEN_STATES = "extract_hidden_states"
    CUSTOM_CLASS = "custom_class"
    MLP_SPECULATOR = "mlp_speculator"


ALIASES = tuple(word for word, facts in table("methods")["methods"].items() if facts.get("alias_of") == Method.MTP)
"""Deprecated names of mtp, one for each model family; vLLM takes them, and so does the API."""


def _plain(word: object) -> object:
    return Method.MTP if word in ALIASES else word


MethodWord = Annotated[
    Method,
    BeforeValidator(_plain),
    WithJsonSchema({"type": "string", "enum": [*(each.value for each in Method), *ALIASES]}),
]


class DraftSampling(StrEnum):
    """How the draft chooses its tokens."""

    GREEDY = "Greedy"
    PROBABILISTIC = "Probabilistic"


class Rejection(StrEnum):
    """How drafted tokens are verified. Standard and Block keep the target's distribution; Fly does not.

    Synthetic pretends an acceptance: it answers with garbage, and is for measuring.
    """

    STANDARD = "Standard"
    BLOCK = "Block"
    FLY = "Fly"
    SYNTHETIC = "Synthetic"


class Speculation(Part):
    """What guesses the next tokens. A change here forgets an earlier rollback."""

    model_config = rules(
        rule(
            "self.method != 'mlp_speculator'",
            "mlp_speculator is in vLLM's list of methods, but has never worked in its V1 engine; use an eagle3 head",
            ".method",
        ),
        rule(
            f"!(self.method in {list(WITH_DRAFT)}) || has(self.draft)",
            f"methods {listed(WITH_DRAFT)} need a draft",
            ".draft",
        ),
        rule(
            f"!(self.method in {list(WITHOUT_DRAFT)}) || !has(self.draft)",
            f"methods {listed(WITHOUT_DRAFT)} take no draft",
            ".draft",
        ),
        rule(
            "!has(self.draft) || has(self.draft.uri) || has(self.draft.path) "
            "|| self.method.endsWith('mtp') || self.method == 'dspark'",
            "set uri, or path inside the target's artifact",
            ".draft",
        ),
        rule(
            "has(self.tokens) || self.method in ['suffix', 'dspark']",
            "set tokens (K, the number of tokens guessed per step); only suffix and dspark have a default",
            ".tokens",
        ),
        rule(
            "self.method != 'extract_hidden_states' || (has(self.tokens) && self.tokens == 1)",
            "extract_hidden_states writes one position per step: tokens must be 1",
            ".tokens",
        ),
        rule("self.method in ['ngram', 'ngram_gpu'] || !has(self.ngram)", "ngram is only for method ngram", ".ngram"),
        rule("self.method == 'suffix' || !has(self.suffix)", "suffix is only for method suffix", ".suffix"),
        rule(
            "(self.method == 'extract_hidden_states') == has(self.hiddenStates)",
            "set hiddenStates with method extract_hidden_states, and only with it",
            ".hiddenStates",
        ),
        rule(
            "(self.method == 'custom_class') == has(self.customClass)",
            "set customClass with method custom_class, and only with it",
            ".customClass",
        ),
        rule(
            "!self.parallelDrafting || self.method in ['draft_model', 'eagle', 'eagle3', 'dflash', 'dspark']",
            "parallelDrafting needs a draft that was trained for it, with method eagle3 (P-EAGLE) or draft_model "
            "(PARD)",
            ".parallelDrafting",
        ),
        rule(
            "!self.heterogeneousVocabulary || (self.method == 'draft_model' && "
            "(!has(self.draftSampling) || self.draftSampling == 'Greedy'))",
            "heterogeneousVocabulary works with method draft_model and draftSampling Greedy",
            ".heterogeneousVocabulary",
        ),
        rule(
            "!has(self.tokensByBatchSize) || !has(self.tokens) "
            "|| self.tokensByBatchSize.all(row, row.tokens <= self.tokens)",
            "tokens in a row of tokensByBatchSize must not be above spec.speculation.tokens",
            ".tokensByBatchSize",
        ),
    )

    method: MethodWord = Field(
        description="How the next tokens are guessed. `specdec explain METHOD` shows the needs and the expected gain "
        "of each method. Names that end in _mtp are deprecated names of mtp."
    )
    tokens: Annotated[int, Field(ge=1, le=MOST_TOKENS)] | None = Field(
        None, description="K: tokens guessed per step. Only suffix and dspark have a default."
    )
    draft: Draft | None = None
    tokens_by_batch_size: (
        Annotated[
            list[BatchStep],
            Field(
                min_length=1,
                max_length=32,
                json_schema_extra={
                    "x-kubernetes-validations": [
                        rule(
                            "self.all(row, has(row.upTo) || row == self[self.size() - 1])",
                            "upTo is required in each row except the last",
                        ),
                        rule(
                            "self.filter(row, has(row.upTo)).map(row, row.upTo).isSorted()",
                            "rows must be in order of upTo",
                        ),
                        rule(
                            "self.all(row, !has(row.upTo) || "
                            "self.exists_one(other, has(other.upTo) && other.upTo == row.upTo))",
                            "two rows have the same upTo",
                        ),
                    ]
                },
            ),
        ]
        | None
    ) = Field(None, description="K by load, to guess fewer tokens while many requests run.")
    ngram: Ngram | None = None
    suffix: Suffix | None = None
    draft_sampling: DraftSampling | None = Field(
        None,
        description="How the draft selects tokens: Greedy, or Probabilistic (higher acceptance at temperature > 0).",
    )
    rejection: Rejection | None = Field(
        None, description="How guesses are verified. Default: the engine's, which is lossless."
    )
    ascend: AscendRejection | None = None
    parallel_drafting: bool = Field(
        False, description="The draft guesses all K tokens in one pass. Only for drafts that were trained for it."
    )
    heterogeneous_vocabulary: bool = Field(
        False, description="Draft and target have different vocabularies. The draft guesses shared tokens only."
    )
    hidden_states: HiddenStates | None = None
    custom_class: Annotated[str, Field(max_length=512, pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$")] | None = Field(
        None, description="Python class of your own proposer, as package.module.Class."
    )
    options: Free | None = Field(
        None,
        description=(
            "Additional keys of vLLM's --speculative-config, in vLLM's spelling. They are checked against the engine "
            "version."
        ),
    )
