"""MTP drafts with layers of the target itself: they must have been kept, and K must fit them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from specdec_engine.rule import Finding, Severity
from specdec_runtime.preflight import kinds
from specdec_runtime.preflight.finding import FolderRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from specdec_engine.config_json import Config
    from specdec_runtime.preflight.artifact import Artifact
    from specdec_runtime.preflight.case import Case

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

_COUNTED: Final = frozenset(
    (
        *("deepseek_v3", "deepseek_v32", "deepseek_v4", "glm4_moe", "glm4_moe_lite", "glm_moe_dsa", "ernie4_5_moe"),
        *("qwen3_next", "mimo", "pangu_ultra_moe", "exaone_moe", "exaone4_5", "hy_v3", "kimi_k3"),
    )
)
"""Model types whose config.json must count the layers under num_nextn_predict_layers."""
_KEYS: Final = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules")
_LAYER: Final = re.compile(r"(?:^|\.)layers\.(\d+)\.")


def predicted(config: Config) -> int | None:
    """Return how many tokens a model's MTP layers were trained for; None where its config does not say."""
    places = (config, config.section("mtp_config"))
    return next((found for key in _KEYS for place in places if (found := place.number(key)) is not None), None)


def heads(case: Case) -> Iterator[Finding]:
    """The model has MTP layers, by its config."""
    if case.method != "mtp":
        return
    model = case.draft or case.target
    config, layers = model.settings, predicted(model.settings)
    plain = config.model_type in kinds.PLAIN_TYPES and not any("MiMo" in each for each in config.architectures)
    if (plain or config.model_type in _COUNTED) and not layers:
        counted = f"{layers}" if layers is not None else "no"
        yield HEADS.found(
            model.field,
            f"{model.path}/config.json has model_type {config.model_type} and {counted} MTP layers "
            f"({', '.join(_KEYS)}): method mtp needs MTP layers in the model; use a model that has them, or another "
            "method: ngram and suffix need no draft",
        )


def tensors(case: Case) -> Iterator[Finding]:
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


def _kept(model: Artifact, depth: int) -> bool:
    beyond = (int(found[1]) >= depth for name in model.tensors or {} if (found := _LAYER.search(name)))
    return any("mtp" in name or "nextn" in name for name in model.tensors or {}) or any(beyond)


def divisible(case: Case) -> Iterator[Finding]:
    """K is what the layers predict, or a multiple of it."""
    layers = predicted((case.draft or case.target).settings) if case.method == "mtp" else None
    if layers and case.tokens is not None and case.tokens > layers and case.tokens % layers:
        yield DIVISIBLE.found(
            "--speculative-config num_speculative_tokens",
            f"num_speculative_tokens is {case.tokens}, but the model predicts {layers} tokens with its MTP layers: "
            f"above {layers} it must be a multiple of {layers}; set it to {layers} or "
            f"{case.tokens // layers * layers}",
        )
