"""MTP drafts with layers of the target itself: they must have been kept, and K must fit them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from specdec_engine.model_config import of_drafting_family
from specdec_engine.rule import Finding, Severity
from specdec_engine.tables import in_release
from specdec_runtime.preflight.finding import FolderRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from specdec_engine.config_json import Config
    from specdec_runtime.preflight.artifact import ModelFolder
    from specdec_runtime.preflight.case import PreflightCase

HEADS: Final = FolderRule(
    id="MtpHeadsMissing",
    severity=Severity.REFUSED,
    when="mtp",
    says="The model type has MTP layers, and its config.json has at least one.",
    without="`Unsupported speculative method: 'mtp'` after 7 s.",
    source="run, 0.32; config/speculative.py",
)
TENSORS: Final = FolderRule(
    id="MtpTensorsMissing",
    severity=Severity.REFUSED,
    when="mtp",
    says="The weights contain MTP layers (mtp.*, or layers beyond num_hidden_layers): many quantised uploads lack "
    "them.",
    without="The engine fails during loading, or drafts with layers of zeros.",
    source="model_executor/models/*_mtp.py, 0.32",
)
DIVISIBLE: Final = FolderRule(
    id="MtpTokensIndivisible",
    severity=Severity.REFUSED,
    when="mtp with a K above the number of MTP layers",
    says="K is a multiple of the number of MTP layers.",
    without="`num_speculative_tokens:3 must be divisible by n_predict=2` after 7 s.",
    source="run, 0.32",
)
RULES: Final = (HEADS, TENSORS, DIVISIBLE)

_KEYS: Final = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules")
_LAYER: Final = re.compile(r"(?:^|\.)layers\.(\d+)\.")


def predicted(config: Config) -> int | None:
    """Return how many tokens a model's MTP layers were trained for; None if its config does not hold it."""
    places = (config, config.section("mtp_config"))
    return next((found for key in _KEYS for place in places if (found := place.number(key)) is not None), None)


def heads(case: PreflightCase) -> Iterator[Finding]:
    """The model has MTP layers, by its config."""
    model = case.draft or case.target
    layers = predicted(model.settings)
    if case.method == "mtp" and (case.broken("MTP-HEADS") or _without(case, layers)):
        yield HEADS.found(
            model.field,
            f"{model.path}/config.json has model_type {model.settings.model_type} and "
            f"{'no' if layers is None else layers} MTP layers ({', '.join(_KEYS)}): method mtp needs MTP layers in the "
            "model; use a model that has them, or another method: ngram and suffix need no draft",
        )


def _without(case: PreflightCase, layers: int | None) -> bool:
    """Whether the model is of a family that certainly has no heads, or counts none; a new family is left to vLLM."""
    model = case.resolved.draft
    if model is None or not case.broken("MTP-FAMILY"):
        return False
    known = in_release("model_types", "known", model.model_type, case.resolved.version)
    return known is True and (layers == 0 or not of_drafting_family(model))


def tensors(case: PreflightCase) -> Iterator[Finding]:
    """The model has MTP layers, in its weights."""
    if case.method != "mtp" or case.draft is not None or not case.load_weights or not predicted(case.target.settings):
        return
    model, depth = case.target, case.target.number("num_hidden_layers")
    if model.tensors is not None and depth is not None and not _kept(model, depth):
        yield TENSORS.found(
            model.field,
            f"{model.path}/config.json has {predicted(model.settings)} MTP layers, but none of the "
            f"{len(model.tensors)} tensors belongs to one (mtp.*, layers.{depth}.*): method mtp needs their weights; "
            "use the original upload, or one with these weights",
        )


def _kept(model: ModelFolder, depth: int) -> bool:
    beyond = (int(found[1]) >= depth for name in model.tensors or {} if (found := _LAYER.search(name)))
    return any("mtp" in name or "nextn" in name for name in model.tensors or {}) or any(beyond)


def divisible(case: PreflightCase) -> Iterator[Finding]:
    """K is what the layers predict, or a multiple of it."""
    layers, tokens = case.resolved.draft.n_predict if case.resolved.draft else None, case.tokens
    if case.method == "mtp" and layers and tokens is not None and case.broken("K-PREDICT"):
        yield DIVISIBLE.found(
            "--speculative-config num_speculative_tokens",
            f"num_speculative_tokens is {tokens}, but the model predicts {layers} tokens with its MTP layers: above "
            f"{layers} it must be a multiple of {layers}; set it to {layers} or {tokens // layers * layers}",
        )
