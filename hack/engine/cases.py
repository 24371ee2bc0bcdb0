"""Every method as a user writes it, with the tiny models that it drafts with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

_Spec = Mapping[str, Any]
STATES: Final = "/tmp/specdec-hidden-states"  # noqa: S108 (a folder inside the image's own /tmp)


@dataclass(frozen=True, kw_only=True, slots=True)
class Method:
    """One way to speculate. speculation: of the spec, without the draft's place; draft, target: folders of the models.

    drafts: whether it is there to be accepted; extract_hidden_states only writes.
    """

    name: str
    speculation: _Spec = field(default_factory=dict)
    draft: str | None = None
    target: str = "target"
    drafts: bool = True
    engine: _Spec = field(default_factory=dict)


PLAIN: Final = Method(name="plain", drafts=False)
_SCHEDULE: Final = [{"upTo": 1, "tokens": 4}, {"upTo": 4, "tokens": 2}, {"tokens": 0}]
METHODS: Final = (
    Method(name="ngram", speculation={"method": "ngram", "tokens": 4}),
    Method(name="suffix", speculation={"method": "suffix", "tokens": 8}),
    Method(name="draft_model", speculation={"method": "draft_model", "tokens": 4}, draft="draft"),
    Method(
        name="draft_model, Probabilistic",
        speculation={"method": "draft_model", "tokens": 4, "draftSampling": "Probabilistic"},
        draft="draft",
    ),
    Method(
        name="draft_model, tokensByBatchSize",
        speculation={"method": "draft_model", "tokens": 4, "tokensByBatchSize": _SCHEDULE},
        draft="draft",
        engine={"maxNumSeqs": 8},
    ),
    Method(
        name="draft_model, heterogeneousVocabulary",
        speculation={"method": "draft_model", "tokens": 4, "heterogeneousVocabulary": True},
        draft="draft-hetero",
    ),
    Method(
        name="draft_model, parallelDrafting (PARD)",
        speculation={"method": "draft_model", "tokens": 4, "parallelDrafting": True},
        draft="draft-pard",
    ),
    Method(name="eagle", speculation={"method": "eagle", "tokens": 3}, draft="head-eagle"),
    Method(name="eagle3", speculation={"method": "eagle3", "tokens": 3}, draft="head-eagle3"),
    Method(
        name="eagle3, parallelDrafting (P-EAGLE)",
        speculation={"method": "eagle3", "tokens": 3, "parallelDrafting": True},
        draft="head-peagle",
    ),
    Method(name="medusa", speculation={"method": "medusa", "tokens": 4}, draft="head-medusa"),
    Method(name="mtp", speculation={"method": "mtp", "tokens": 2}, target="target-mtp"),
    Method(name="dflash", speculation={"method": "dflash", "tokens": 4}, draft="head-dflash"),
    Method(
        name="custom_class",
        speculation={"method": "custom_class", "tokens": 4, "customClass": "hack.engine.proposer.LastSeen"},
    ),
    Method(
        name="extract_hidden_states",
        speculation={
            "method": "extract_hidden_states",
            "tokens": 1,
            "hiddenStates": {"layers": [1, 2, 3], "path": STATES},
        },
        drafts=False,
    ),
)
"""All that run on a CPU."""
ELSEWHERE: Final = (
    Method(name="ngram_gpu", speculation={"method": "ngram_gpu", "tokens": 4}),
    Method(name="dspark", speculation={"method": "dspark", "tokens": 4}, draft="head-dflash"),
    Method(name="mlp_speculator", speculation={"method": "mlp_speculator", "tokens": 3}, draft="head-mlp"),
)
"""Those that do not: what the engine itself says is written down."""
