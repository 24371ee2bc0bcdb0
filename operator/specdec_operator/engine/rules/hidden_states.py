"""extract_hidden_states: it drafts nothing useful, it hands the target's hidden states to a connector."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from specdec_operator.engine.rule import Finding
from specdec_operator.engine.rules.making import RECORDED, SPECULATIVE, refused, stricter
from specdec_operator.engine.settled import Settled

CONNECTOR: Final = stricter(
    "HIDDEN-CONNECTOR", "Extracted hidden states go to a connector: one must be configured.", RECORDED, since="0.17"
)
LAYERS: Final = stricter(
    "HIDDEN-LAYERS", "The layers to extract are a list of layer numbers of the target.", RECORDED, since="0.17"
)
CONFIG: Final = refused("HIDDEN-CONFIG", "`draft_model_config.hf_config` is an object.", SPECULATIVE, since="0.17")

RULES: Final = (CONFIG, CONNECTOR, LAYERS)

_FIELD: Final = "speculative_config.draft_model_config"


def check(settled: Settled) -> Iterator[Finding]:
    """The layers, and where they go."""
    if settled.method != "extract_hidden_states":
        return
    sent = settled.value("draft_model_config")
    inside: Any = sent.get("hf_config", {}) if isinstance(sent, Mapping) else {}
    if not isinstance(inside, Mapping):
        yield CONFIG.broken(f"{_FIELD}.hf_config", inside, "write an object with eagle_aux_hidden_state_layer_ids")
        return
    yield from _layers(inside.get("eagle_aux_hidden_state_layer_ids"), settled)
    transfer = settled.case.args.get("kv_transfer_config")
    if not isinstance(transfer, dict) or not transfer.get("kv_connector"):
        message = "add --kv-transfer-config with a connector that stores hidden states"
        yield CONNECTOR.broken("args.kv_transfer_config", transfer, message)


def _layers(ids: object, settled: Settled) -> Iterator[Finding]:
    field = f"{_FIELD}.hf_config.eagle_aux_hidden_state_layer_ids"
    numbers = isinstance(ids, list) and all(isinstance(each, int) and not isinstance(each, bool) for each in ids)
    if not isinstance(ids, list) or not ids or not numbers:
        yield LAYERS.broken(field, ids, "name the layers, such as [1, 2]")
        return
    deep = settled.target.layers if settled.target is not None else None
    if deep is not None and (beyond := [each for each in ids if not 0 <= each <= deep]):
        yield LAYERS.broken(field, ids, f"the target has {deep} layers, and no layer {beyond[0]}")
