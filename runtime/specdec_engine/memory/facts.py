"""What a pod reports about its engine, its models and its device, and what of that is kept to plan with. Pure.

A tenant's pod may send anything: a page of another form gives no facts, and what is kept of a page is small.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from specdec_engine.case import Json
from specdec_engine.found_engine import is_engine
from specdec_engine.memory.model_size import quantised_bits
from specdec_engine.shape import attention_kinds, text_config

_MOST_BYTES: Final = 1 << 50
MOST_CONFIG: Final = 1_500
"""Characters of a config that are kept in a status."""
_SIZES: Final = frozenset(
    (
        *("num_hidden_layers", "n_layer", "num_layers", "n_layers", "hidden_size", "n_embd", "d_model"),
        *("num_attention_heads", "n_head", "n_heads", "num_key_value_heads", "num_kv_heads", "multi_query_group_num"),
        *("head_dim", "intermediate_size_mlp", "intermediate_size", "n_inner", "ffn_hidden_size", "vocab_size"),
        *("padded_vocab_size", "tie_word_embeddings", "model_type", "sliding_window", "attention_chunk_size"),
        *("max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "max_sequence_length"),
        *("full_attention_interval", "attn_layer_period", "kv_lora_rank", "qk_rope_head_dim", "q_lora_rank"),
        *("qk_nope_head_dim", "v_head_dim", "index_head_dim", "num_experts", "moe_num_experts", "n_routed_experts"),
        *("num_local_experts", "moe_intermediate_size", "expert_ffn_hidden_size", "shared_expert_intermediate_size"),
        *("shared_intermediate_size", "n_shared_experts", "num_shared_experts", "decoder_sparse_step"),
        *("moe_layer_freq", "interleave_moe_layer_step", "moe_layer_interval", "mlp_only_layers"),
        *("first_k_dense_replace", "moe_layer_start_index", "num_nextn_predict_layers", "mtp_num_hidden_layers"),
        *("num_mtp_modules", "dtype", "torch_dtype", "draft_vocab_size", "target_hidden_size"),
        *("num_aux_hidden_states", "num_heads", "medusa_num_heads", "medusa_num_layers"),
        *("eagle_aux_hidden_state_layer_ids", "aux_hidden_state_layer_ids"),
    )
)
"""Keys of a config.json that the memory plan reads, see shape.py and draft_size.py."""
_PARTS: Final = ("mtp_config", "eagle_config")
"""Objects inside of it that the plan reads."""


class Role(StrEnum):
    """What a fact is about."""

    TARGET = "Target"
    DRAFT = "Draft"
    DEVICE = "Device"
    ENGINE = "Engine"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodFact:
    """One fact that a pod reported.

    of: hash of what it is about: another artifact, or another pod, makes it void. bytes: of the tensors, or of the
    device; 0 for the engine. config: what is kept of config.json, as JSON. engine: such as `vllm 0.33.0`. used: whether
    what runs was planned with it.
    """

    role: Role
    of: str
    bytes: int
    config: str = ""
    engine: str = ""
    used: bool = False

    @property
    def document(self) -> Json | None:
        """The config; None where none was kept."""
        return json.loads(self.config) if self.config else None


@dataclass(frozen=True, slots=True, kw_only=True)
class PodFacts:
    """A pod's page, read. configs: config.json by role, as the pod sent them. used: bytes of the device that are
    taken. engine: empty if it is not known.
    """

    bytes: Mapping[Role, int]
    configs: Mapping[Role, Json]
    used: int | None = None
    engine: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the plan may start from. None, or no engine: not known; rules and estimates are for that."""

    target: Json | None = None
    target_bytes: int | None = None
    draft: Json | None = None
    draft_bytes: int | None = None
    device: int | None = None
    engine: str = ""


NOTHING: Final = Known()


def read_page(body: bytes) -> PodFacts:
    """The facts of a page; none if the page has another form."""
    try:
        page = json.loads(body)
    except (ValueError, RecursionError):
        page = {}
    page = page if isinstance(page, dict) else {}
    models = page.get("models")
    models = models if isinstance(models, dict) else {}
    sizes: dict[Role, Any] = {Role.DEVICE: page.get("device")}
    configs: dict[Role, Json] = {}
    for role in (Role.TARGET, Role.DRAFT):
        model = models.get(role.lower())
        if isinstance(model, dict) and isinstance(config := model.get("config"), dict):
            sizes[role], configs[role] = model.get("bytes"), config
    known = {role: size for role, size in sizes.items() if _bytes(size)}
    configs = {role: config for role, config in configs.items() if role in known}
    engine = page.get("engine")
    return PodFacts(
        bytes=known,
        configs=configs,
        used=_bytes(page.get("used")),
        engine=engine if isinstance(engine, str) and is_engine(engine) else "",
    )


def _bytes(told: object) -> int | None:
    return told if type(told) is int and 0 < told <= _MOST_BYTES else None


def kept(config: Json) -> str:
    """What of a config.json decides about memory, as JSON; empty where that is more than a status should hold.

    The plan made of it is the one that would be made of the whole.
    """
    text = text_config(config)
    short = {key: value for key, value in text.items() if key in _SIZES and value is not None}
    short |= {key: _sizes(text[key]) for key in _PARTS if isinstance(text.get(key), dict)}
    if kinds := attention_kinds(text):
        short["layer_types"] = kinds
    if (bits := quantised_bits(text)) is not None:
        method = text["quantization_config"].get("quant_method")
        short["quantization_config"] = {"kept_bits": bits} | ({"quant_method": method} if method == "mxfp4" else {})
    written = json.dumps(short, sort_keys=True, separators=(",", ":"))
    return written if len(written) <= MOST_CONFIG else ""


def _sizes(part: Json) -> Json:
    return {key: value for key, value in part.items() if key in _SIZES}


def taken_in(facts: Iterable[PodFact], told: PodFacts, of: Mapping[Role, str]) -> tuple[PodFact, ...]:
    """The facts with the newly reported ones. Known facts stay as they are, except for the engine: a tag may move.

    of: hashes of what the pod was made of.
    """
    known = with_engine(valid(facts, of), told.engine, of)
    there = {each.role for each in known}
    new = (
        PodFact(role=role, of=of[role], bytes=size, config=kept(told.configs[role]) if role in told.configs else "")
        for role, size in told.bytes.items()
        if role in of and role not in there
    )
    return tuple(sorted((*known, *new), key=lambda each: each.role))


def with_engine(
    facts: Iterable[PodFact], engine: str, of: Mapping[Role, str], *, used: bool = False
) -> tuple[PodFact, ...]:
    """The facts with the engine that a pod found; the same if it is not known, or known already."""
    known = tuple(facts)
    same = any(each.engine == engine and (each.used or not used) for each in known)
    if not engine or same or Role.ENGINE not in of:
        return known
    new = PodFact(role=Role.ENGINE, of=of[Role.ENGINE], bytes=0, engine=engine, used=used)
    return tuple(sorted((*(each for each in known if each.role is not Role.ENGINE), new), key=lambda each: each.role))


def valid(facts: Iterable[PodFact], of: Mapping[Role, str]) -> tuple[PodFact, ...]:
    """Those that are about the requested parts. of: hashes of these."""
    return tuple(each for each in facts if of.get(each.role) == each.of)


def used(facts: Iterable[PodFact]) -> tuple[PodFact, ...]:
    """All of them, as what the next rollout is planned with."""
    return tuple(replace(each, used=True) for each in facts)


def known_of(facts: Iterable[PodFact]) -> Known:
    """What the plan may start from."""
    by_role = {each.role: each for each in facts}
    target, draft, device = (by_role.get(role) for role in (Role.TARGET, Role.DRAFT, Role.DEVICE))
    engine = by_role.get(Role.ENGINE)
    return Known(
        target=target.document if target else None,
        target_bytes=target.bytes if target else None,
        draft=draft.document if draft else None,
        draft_bytes=draft.bytes if draft else None,
        device=device.bytes if device else None,
        engine=engine.engine if engine else "",
    )
