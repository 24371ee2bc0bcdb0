"""The faults that people make, each upon models that work: who is to catch it, and by what word.

What is broken is a copy of the tiny models; the rest is as in cases.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from math import nan
from typing import TYPE_CHECKING, Any, Final

from hack.engine import spoil
from hack.engine.cases import METHODS, Method

if TYPE_CHECKING:
    from collections.abc import Mapping


class Layer(StrEnum):
    """What catches a fault, from the earliest to the last."""

    PREFLIGHT = "preflight"
    """Before the engine is loaded: exit code 78 within seconds."""
    START = "start"
    """The engine itself, while it starts."""
    PROVE = "prove"
    """The startup probe: the engine is up and does not do what it must."""
    GUARD = "guard"
    """The guard: everything is green, and the draft is worth nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """One thing that is wrong.

    what: in the user's words. method: the name of the case that works. word: the reason of the refusal or the decision.
    breaks: `draft` or `target`; how: what is done to a copy of that model. speculation, draft, flags: what the sis says
    otherwise than the case. tokens: of each answer that clients ask for.
    """

    what: str
    method: str
    layer: Layer
    word: str
    breaks: str = "draft"
    how: spoil.Spoil | None = None
    speculation: Mapping[str, Any] = field(default_factory=dict)
    draft: str | None = None
    flags: tuple[str, ...] = ()
    tokens: int = 96

    def asked(self) -> Method:
        """Return the method with what is wrong in the spec itself."""
        base = next(each for each in METHODS if each.name == self.method)
        return Method(
            name=self.what,
            speculation={**base.speculation, **self.speculation},
            draft=self.draft or base.draft,
            target=base.target,
            engine=base.engine,
        )


def _refused(what: str, word: str, how: spoil.Spoil | None, method: str = "draft_model", **more: Any) -> Fault:
    return Fault(what=what, method=method, layer=Layer.PREFLIGHT, word=word, how=how, **more)


def _worthless(what: str, how: spoil.Spoil, method: str = "draft_model", **more: Any) -> Fault:
    return Fault(what=what, method=method, layer=Layer.GUARD, word="AcceptanceRateLow", how=how, **more)


FILES: Final = (
    _refused("the draft's folder is not there", "DraftMissing", spoil.gone()),
    _refused("the target's folder is not there", "TargetMissing", spoil.gone(), breaks="target"),
    _refused("config.json of the draft is not there", "DraftConfigInvalid", spoil.gone("config.json")),
    _refused("config.json is cut off", "DraftConfigInvalid", spoil.text("config.json", '{"vocab_size": 20')),
    _refused("config.json is a list", "DraftConfigInvalid", spoil.text("config.json", "[]")),
    _refused("no tokenizer beside the target", "TargetTokenizerMissing", spoil.gone("tokenizer.json"), breaks="target"),
    _refused(
        "tokenizer.json is cut off", "TargetTokenizerInvalid", spoil.text("tokenizer.json", '{"model'), breaks="target"
    ),
    _refused("no weights", "DraftWeightsMissing", spoil.gone("model.safetensors")),
    _refused("the weights are cut off", "DraftWeightsBroken", spoil.cut()),
    _refused("the target's weights lack their last bytes", "TargetWeightsBroken", spoil.cut(0.999999), breaks="target"),
    _refused("an empty weights file", "DraftWeightsBroken", spoil.cut(0.0)),
    _refused("a header that is no JSON", "DraftWeightsBroken", spoil.header(b"not json")),
    _refused("a header longer than the file", "DraftWeightsBroken", spoil.header(b"{}", 1 << 40)),
    _refused("a Git LFS pointer in place of the weights", "DraftWeightsBroken", spoil.pointer),
    _refused("a shard that the index names is not there", "DraftWeightsBroken", spoil.missing_shard),
    _refused("weights larger than the memory", "MemoryTooSmall", spoil.huge, breaks="target"),
)
PAIRS: Final = (
    _refused("a draft with another vocabulary size", "VocabularySizeMismatch", None, draft="draft-other-vocab"),
    _refused("a draft whose tokenizer has other ids", "VocabularyMismatch", spoil.swapped_ids),
    _refused("intermediate_size of another model", "DraftWeightsMismatch", spoil.config(intermediate_size=256)),
    _refused("a tensor of a layer is not there", "DraftTensorsMissing", spoil.without("layers.0.mlp.up_proj.weight")),
    _refused("a norm that is not a number", "DraftWeightsUnsound", spoil.filled("model.norm.weight", nan)),
    _refused("an output layer of zeros", "DraftWeightsUnsound", spoil.filled("lm_head.weight", 0.0)),
    _refused("200,000 bytes flipped", "DraftWeightsUnsound", spoil.corrupt),
    _refused(
        "parallelDrafting with an ordinary draft",
        "ParallelDraftingUntrained",
        None,
        speculation={"parallelDrafting": True},
    ),
)
HEADS: Final = (
    _refused("an ordinary model as EAGLE head", "DraftIsLanguageModel", None, "eagle", draft="draft"),
    _refused("an EAGLE head as draft model", "DraftIsHead", None, draft="head-eagle"),
    _refused("an EAGLE head of another width", "HeadWidthMismatch", spoil.config(hidden_size=64), "eagle"),
    _refused(
        "EAGLE-3 without a list of layers on a shallow target",
        "AuxLayersCollapse",
        spoil.config(eagle_config=None, eagle_aux_hidden_state_layer_ids=None),
        "eagle3",
    ),
    _refused(
        "EAGLE-3 with a layer that the target has not",
        "AuxLayersOutOfRange",
        spoil.config(eagle_config=None, eagle_aux_hidden_state_layer_ids=[1, 2, 9]),
        "eagle3",
    ),
    _refused("an EAGLE-3 head without its map of tokens", "DraftVocabularyMapMissing", spoil.without("d2t"), "eagle3"),
    _refused(
        "P-EAGLE without its empty state",
        "ParallelDraftingUntrained",
        spoil.without("mask_hidden"),
        "eagle3, parallelDrafting (P-EAGLE)",
    ),
    _refused("K above the heads of Medusa", "MedusaHeadsTooFew", None, "medusa", speculation={"tokens": 6}),
    _refused(
        "mtp, and the weights lack the heads",
        "MtpTensorsMissing",
        spoil.without("model.mtp_layers."),
        "mtp",
        breaks="target",
    ),
    _refused(
        "mtp, and config.json knows no heads",
        "MtpHeadsMissing",
        spoil.config(num_nextn_predict_layers=None, architectures=["Qwen2ForCausalLM"]),
        "mtp",
        breaks="target",
    ),
    _refused(
        "DFlash with a layer that the target has not",
        "AuxLayersOutOfRange",
        spoil.config(dflash_config={"mask_token_id": 2, "target_layer_ids": [0, 1, 12]}),
        "dflash",
    ),
    _refused(
        "DFlash without a mask token",
        "ParallelDraftingUntrained",
        spoil.config(dflash_config={"target_layer_ids": [0, 1, 2]}),
        "dflash",
    ),
    _refused(
        "a speculators checkpoint as target",
        "TargetIsSpeculator",
        spoil.config(speculators_model_type="eagle3", speculators_config={"verifier": {"name_or_path": "some/model"}}),
        breaks="target",
    ),
)
LATER: Final = (
    Fault(
        what="an own proposer that cannot be imported",
        method="custom_class",
        layer=Layer.START,
        word="EngineStartFailed",
        speculation={"customClass": "no_such_module.Proposer"},
    ),
    Fault(
        what="a context that the cache does not hold",
        method="draft_model",
        layer=Layer.START,
        word="EngineStartFailed",
        flags=("--kv-cache-memory-bytes=65536",),
    ),
    Fault(
        what="an own proposer that breaks at the first request",
        method="custom_class",
        layer=Layer.PROVE,
        word="EngineDied",
        speculation={"customClass": "hack.engine.proposer.Broken"},
    ),
    _worthless("weights learnt with other ids", spoil.permuted),
    # It is as good as any at the beginning of an answer.
    _worthless("a draft made for 256 positions, long answers", spoil.short, tokens=850),
    _worthless("an EAGLE head of another target", spoil.untrained, "eagle"),
    _worthless("an EAGLE-3 head of another target", spoil.untrained, "eagle3"),
    _worthless(
        "mtp heads with a projection of zeros",
        spoil.filled("model.mtp_layers.0.input_proj.weight", 0.0),
        "mtp",
        breaks="target",
    ),
    _worthless("Medusa heads of another target", spoil.untrained, "medusa"),
)
ALL: Final = (*FILES, *PAIRS, *HEADS, *LATER)
