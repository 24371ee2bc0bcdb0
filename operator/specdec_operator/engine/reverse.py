"""The way back: what an engine was asked with, as the spec that asks for the same. The tables are those of `translate`.

Two cases that mean the same to the engine, however they are spelt, have the same canonical configuration.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from specdec_engine.case import Case, Json
from specdec_engine.flags import flag_text
from specdec_engine.methods import SUFFIX_TREE_DEPTH, WITHOUT_DRAFT
from specdec_engine.resolve import resolve
from specdec_engine.speculative_config import read, takes
from specdec_engine.version import FLAVORS, IMAGES
from specdec_operator.engine.owned_flags import FLAGS
from specdec_operator.engine.translate import ASCEND, CONFIG, WORDS, at

_NEUTRAL: Final = MappingProxyType({"draft_sample_method": "greedy", "rejection_sample_method": "standard"})
"""What the engine does by itself."""
_SUFFIX: Final = MappingProxyType(
    {
        "suffix_decoding_max_tree_depth": SUFFIX_TREE_DEPTH,
        "suffix_decoding_max_cached_requests": 10_000,
        "suffix_decoding_max_spec_factor": 1.0,
        "suffix_decoding_min_token_prob": 0.1,
    }
)
"""What the engine fills in for suffix, vllm/config/speculative.py."""


def canonical(case: Case) -> dict[str, Any] | None:
    """The configuration with the method and K that the engine settles on, its own defaults, and nothing without effect.

    None where the case serves plainly. Without `method` where that depends on what is not known of the draft.
    """
    if case.speculation is None:
        return None
    resolved = resolve(case)
    method = resolved.method or ""
    values = {
        key: value
        for key, value in resolved.reading.values.items()
        if value is not False and value != _NEUTRAL.get(key) and takes(key, method)
    }
    values["method"] = method
    if resolved.k is not None:
        values["num_speculative_tokens"] = resolved.k
    if method in WITHOUT_DRAFT and method != "custom_class":
        values.pop("model", None)
    return _shaped(values, method)


def _shaped(values: dict[str, Any], method: str) -> dict[str, Any]:
    if method in ("ngram", "ngram_gpu"):
        _windows(values)
    if method == "suffix":
        values = {**_SUFFIX, **values}
        values.setdefault("num_speculative_tokens", values["suffix_decoding_max_tree_depth"])
    if schedule := _steps(values):
        values["num_speculative_tokens_per_batch_size"] = schedule
    return values


def _windows(values: dict[str, Any]) -> None:
    """Of the two ends of the window the engine copies the one that is given."""
    low, high = values.get("prompt_lookup_min"), values.get("prompt_lookup_max")
    if low is not None or high is not None:
        values["prompt_lookup_min"] = high if low is None else low
        values["prompt_lookup_max"] = low if high is None else high


def _steps(values: Mapping[str, Any]) -> list[list[int]]:
    """In order of load, with no more than K tokens."""
    rows = values.get("num_speculative_tokens_per_batch_size") or []
    most = values.get("num_speculative_tokens", 0)
    return sorted([first, last, min(tokens, most) if most else tokens] for first, last, tokens in rows)


_ACCELERATORS: Final = {flavor: str(accelerator) for accelerator, flavor in FLAVORS.items()}
_SHAPED: Final = frozenset({"method", "model", "num_speculative_tokens_per_batch_size", "draft_model_config"})
_SAMPLER: Final = "rejection_sampler_config"
PLACED: Final = frozenset({"model", "port", "host", "served_model_name"})
"""Flags that have their place in the spec, or that KServe and the runtime give."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReversedSpec:
    """The parts `speculation` and `engine` of a spec, and what has no equivalent in a spec, with the reason."""

    speculation: dict[str, Any] | None
    engine: dict[str, Any]
    why_not: tuple[str, ...]


def reverse(case: Case, *, draft: Json) -> ReversedSpec:
    """The spec's parts for a case. `draft`: the spec's fields for where the draft is stored."""
    why_not: list[str] = []
    config = canonical(case)
    speculation = None if config is None else _speculation(config, draft, why_not)
    side = dict(_side(case.args, config))
    if speculation is not None:
        why_not += _unreadable(case)
        speculation |= side
    elif side:
        why_not.append("additional_config: the spec has a field for it only with speculation")
    rest = _beside(case.args, side)
    args = [flag_text(name, rest[name]) for name in sorted(_flags_without_field(rest, side))]
    engine = _engine(case) | ({"args": args} if args else {})
    return ReversedSpec(speculation=speculation, engine=engine, why_not=tuple(why_not))


def _unreadable(case: Case) -> Iterator[str]:
    reading = read(case.speculation or {}, case.build.vllm)
    yield from (f"{key}: this engine version does not have it" for key in reading.unknown)
    yield from (f"{each.key}: {each.value!r} is not {each.wanted}" for each in reading.misread)


def _beside(args: Json, side: Json) -> dict[str, Any]:
    """The flags without what spec.speculation.ascend holds: other keys of --additional-config stay in the flag."""
    if "ascend" not in side:
        return dict(args)
    sampler = at(args, f"additional_config.{_SAMPLER}")
    unheld = {key: value for key, value in sampler.items() if key not in {key for _, key in ASCEND}}
    others = {key: value for key, value in args["additional_config"].items() if key != _SAMPLER}
    others |= {_SAMPLER: unheld} if unheld else {}
    kept = {name: value for name, value in args.items() if name != "additional_config"}
    return kept | ({"additional_config": others} if others else {})


def _flags_without_field(args: Json, side: Json) -> frozenset[str]:
    """The flags, by their Python names, that go into engine.args."""
    elsewhere = {"kv_transfer_config"} if "hiddenStates" in side else set()
    return frozenset(args) - {flag for _, flag in FLAGS} - PLACED - elsewhere


def _engine(case: Case) -> dict[str, Any]:
    accelerator = _ACCELERATORS[case.build.flavor]
    version = str(case.build.ascend or case.build.vllm)
    spec: dict[str, Any] = {"accelerator": accelerator}
    if version != IMAGES[accelerator]:
        spec["version"] = version
    return spec | {field: case.args[flag] for field, flag in FLAGS if case.args.get(flag) not in (None, False)}


def _speculation(config: Json, draft: Json, why_not: list[str]) -> dict[str, Any]:
    method = config["method"]
    if not method:
        why_not.append("method: missing; the engine would derive it from the draft, which is unknown here")
    spec: dict[str, Any] = {"method": method}
    for path, key in CONFIG:
        if key in config and key != "model":
            _put(spec, path, config[key])
    _words(config, spec, why_not)
    _schedule(config, spec, why_not)
    if method == "custom_class":
        spec["customClass"] = config.get("model", "")
    elif "model" in config:
        spec["draft"] = {**draft, **spec.get("draft", {})}
    keys = {key for _, key in CONFIG} | {key for _, key, _ in WORDS} | _SHAPED
    if options := {key: value for key, value in config.items() if key not in keys}:
        spec["options"] = options
    return spec


def _words(config: Json, spec: dict[str, Any], why_not: list[str]) -> None:
    for field, key, values in WORDS:
        if (word := config.get(key)) is None:
            continue
        names = {value: name for name, value in values.items()}
        if word in names:
            spec[field] = names[word]
        else:
            why_not.append(f"{key}: {word!r} has no equivalent in the API")


def _schedule(config: Json, spec: dict[str, Any], why_not: list[str]) -> None:
    """Ranges of requests as rows that touch."""
    rows, after = [], 0
    for first, last, tokens in config.get("num_speculative_tokens_per_batch_size") or ():
        if first != after + 1 or last < first:
            why_not.append("num_speculative_tokens_per_batch_size: ranges must touch and begin at 1")
            return
        rows.append({"upTo": last, "tokens": tokens})
        after = last
    if rows:
        spec["tokensByBatchSize"] = rows


def _side(args: Json, config: Json | None) -> Iterator[tuple[str, Any]]:
    """The fields of spec.speculation for flags other than --speculative-config."""
    if isinstance(rejection := at(args, f"additional_config.{_SAMPLER}"), dict):
        yield "ascend", {field: rejection[key] for field, key in ASCEND if key in rejection}
    if (config or {}).get("method") == "extract_hidden_states":
        yield (
            "hiddenStates",
            {
                "layers": at(config, "draft_model_config.hf_config.eagle_aux_hidden_state_layer_ids") or [],
                "connector": at(args, "kv_transfer_config.kv_connector") or "",
                "path": at(args, "kv_transfer_config.kv_connector_extra_config.shared_storage_path") or "",
            },
        )


def _put(spec: dict[str, Any], path: str, value: Any) -> None:
    *parents, name = path.split(".")
    for parent in parents:
        spec = spec.setdefault(parent, {})
    spec[name] = value
