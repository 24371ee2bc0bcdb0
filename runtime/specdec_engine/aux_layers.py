"""Which layers of the target a head reads, by its config."""

from typing import Final

from specdec_engine.config_json import Config

WITH_AUX: Final = frozenset({"eagle3", "dflash"})
"""Methods whose heads read hidden states of several layers of the target."""
_USUAL: Final = 3
"""Layers that an EAGLE-3 head reads if its config does not name a number."""


def named(config: Config) -> tuple[int, ...] | None:
    """The layers that a head's config names, counted as EAGLE-3 does: n is what enters layer n."""
    for place in (config, config.section("eagle_config")):
        for key in ("eagle_aux_hidden_state_layer_ids", "aux_hidden_state_layer_ids"):
            if ids := place.numbers(key):
                return ids
    ids = config.section("dflash_config").numbers("target_layer_ids") or config.numbers("target_layer_ids")
    return tuple(each + 1 for each in ids) if ids else None


def taken(method: str, config: Config, depth: int) -> tuple[int, ...]:
    """The layers that a head takes of a target of so many layers; empty if its config does not name them."""
    if method not in WITH_AUX or not reads_any(config):
        return ()
    return named(config) or (_usual(depth) if method == "eagle3" else ())


def _usual(depth: int) -> tuple[int, ...]:
    """What vLLM takes for a head that names none."""
    return (2, depth // 2, depth - 3)


def astray(layers: tuple[int, ...], depth: int) -> tuple[int, ...]:
    """Those that a target of so many layers does not have."""
    return tuple(each for each in layers if not 0 <= each <= depth)


def reads_any(config: Config) -> bool:
    """Whether a head reads layers between the first and the last at all."""
    places = (config.section("eagle_config"), config.section("dflash_config"), config)
    return next((found for each in places if (found := each.flag("use_aux_hidden_state")) is not None), True)


def count(method: str, config: Config) -> int | None:
    """How many layers' hidden states a head takes; None if its config does not show it."""
    if not reads_any(config):
        return None
    if (ids := named(config)) is not None:
        return len(ids)
    number = config.number("num_aux_layers") or config.number("num_aux_hidden_states")
    return number or (_USUAL if method == "eagle3" else None)
