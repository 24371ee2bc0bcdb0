"""Which layers of the target a head reads, and how many heads Medusa has. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from specdec_engine.config_json import Config

_MEDUSA: Final = re.compile(r"(?:^|\.)(?:blocks|medusa_heads|lm_heads)\.(\d+)\.|^(\d+)\.\d+\.")
_USUAL: Final = 3
"""Layers that an EAGLE-3 head reads when it does not say so."""


def named(config: Config) -> tuple[int, ...] | None:
    """Return the layers that a head's config names, counted as EAGLE-3 does: n is what enters layer n."""
    for place in (config, config.section("eagle_config")):
        for key in ("eagle_aux_hidden_state_layer_ids", "aux_hidden_state_layer_ids"):
            if ids := place.numbers(key):
                return ids
    ids = config.section("dflash_config").numbers("target_layer_ids") or config.numbers("target_layer_ids")
    return tuple(each + 1 for each in ids) if ids else None


def usual(depth: int) -> tuple[int, int, int]:
    """Return the layers that vLLM takes for a head that names none, in a target of so many layers."""
    return (2, depth // 2, depth - 3)


def reads_any(config: Config) -> bool:
    """Whether a head reads layers between the first and the last at all."""
    places = (config.section("eagle_config"), config.section("dflash_config"), config)
    return next((found for each in places if (found := each.flag("use_aux_hidden_state")) is not None), True)


def count(method: str, config: Config) -> int | None:
    """Return how many layers' hidden states a head takes; None where its config does not tell."""
    if not reads_any(config):
        return None
    if (ids := named(config)) is not None:
        return len(ids)
    number = config.number("num_aux_layers") or config.number("num_aux_hidden_states")
    return number or (_USUAL if method == "eagle3" else None)


def medusa_heads(names: Iterable[str]) -> int | None:
    """Return how many heads a Medusa checkpoint holds; None where its names do not tell."""
    numbers = [int(found[1] or found[2]) for name in names if (found := _MEDUSA.search(name))]
    return max(numbers) + 1 if numbers else None
