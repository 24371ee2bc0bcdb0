"""The way back: what an engine was asked with, as the spec that asks for the same. The tables are those of `asked`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from specdec_operator.engine.arguments import flag_text
from specdec_operator.engine.asked import ASCEND, CONFIG, FLAGS, WORDS
from specdec_operator.engine.builds import IMAGES
from specdec_operator.engine.case import Case, Json
from specdec_operator.engine.meant import meant
from specdec_operator.engine.reading import read
from specdec_operator.engine.version import Flavor

_ACCELERATORS: Final = {Flavor.VLLM: "nvidia", Flavor.VLLM_ASCEND: "ascend", Flavor.VLLM_CPU: "cpu"}
_SHAPED: Final = frozenset({"method", "model", "num_speculative_tokens_per_batch_size", "draft_model_config"})
PLACED: Final = frozenset({"model", "port", "host", "served_model_name"})
"""Flags that have their place in the spec, or that KServe and the runtime give."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unasked:
    """The parts `speculation` and `engine` of a spec, and why not, where something cannot be said in one."""

    speculation: dict[str, Any] | None
    engine: dict[str, Any]
    why_not: tuple[str, ...]


def unask(case: Case, *, draft: Json) -> Unasked:
    """The spec's parts for a case. `draft` is what the spec is to say about where the draft lies."""
    trouble: list[str] = []
    config = meant(case)
    speculation = None if config is None else _speculation(config, draft, trouble)
    side = dict(_side(case.args, config))
    if speculation is not None:
        trouble += _unreadable(case)
        speculation |= side
    elif side:
        trouble.append("additional_config: the spec says it with the speculation only")
    args = [flag_text(name, case.args[name]) for name in sorted(_flags_without_field(case.args, side))]
    engine = _engine(case) | ({"args": args} if args else {})
    return Unasked(speculation=speculation, engine=engine, why_not=tuple(trouble))


def _unreadable(case: Case) -> Iterator[str]:
    reading = read(case.speculation or {}, case.build.vllm)
    yield from (f"{key}: this version does not know it" for key in reading.strangers)
    yield from (f"{each.key}: {each.value!r} is not {each.wanted}" for each in reading.misread)


def _flags_without_field(args: Json, side: Json) -> frozenset[str]:
    """The flags, by their Python names, that go into engine.args."""
    said = {"additional_config"} if "ascend" in side else set()
    said |= {"kv_transfer_config"} if "hiddenStates" in side else set()
    return frozenset(args) - {flag for _, flag in FLAGS} - PLACED - said


def _engine(case: Case) -> dict[str, Any]:
    accelerator = _ACCELERATORS[case.build.flavor]
    version = str(case.build.ascend or case.build.vllm)
    said: dict[str, Any] = {"accelerator": accelerator}
    if version != IMAGES[accelerator]:
        said["version"] = version
    return said | {field: case.args[flag] for field, flag in FLAGS if case.args.get(flag) not in (None, False)}


def _speculation(config: Json, draft: Json, trouble: list[str]) -> dict[str, Any]:
    method = config["method"]
    if not method:
        trouble.append("method: the engine would guess it from the draft, which is not known here")
    said: dict[str, Any] = {"method": method}
    for path, key in CONFIG:
        if key in config and key != "model":
            _put(said, path, config[key])
    _words(config, said, trouble)
    _schedule(config, said, trouble)
    if method == "custom_class":
        said["customClass"] = config.get("model", "")
    elif "model" in config:
        said["draft"] = {**draft, **said.get("draft", {})}
    known = {key for _, key in CONFIG} | {key for _, key, _ in WORDS} | _SHAPED
    if options := {key: value for key, value in config.items() if key not in known}:
        said["options"] = options
    return said


def _words(config: Json, said: dict[str, Any], trouble: list[str]) -> None:
    for field, key, words in WORDS:
        if (word := config.get(key)) is None:
            continue
        names = {value: name for name, value in words.items()}
        if word in names:
            said[field] = names[word]
        else:
            trouble.append(f"{key}: {word!r} has no word in the API")


def _schedule(config: Json, said: dict[str, Any], trouble: list[str]) -> None:
    """Ranges of requests as rows that touch."""
    rows, after = [], 0
    for first, last, tokens in config.get("num_speculative_tokens_per_batch_size") or ():
        if first != after + 1 or last < first:
            trouble.append("num_speculative_tokens_per_batch_size: ranges must touch and begin at 1")
            return
        rows.append({"upTo": last, "tokens": tokens})
        after = last
    if rows:
        said["tokensByBatchSize"] = rows


def _side(args: Json, config: Json | None) -> Iterator[tuple[str, Any]]:
    """What flags beside --speculative-config say that the spec says with the speculation."""
    if isinstance(rejection := _at(args, "additional_config", "rejection_sampler_config"), dict):
        yield "ascend", {field: rejection[key] for field, key in ASCEND if key in rejection}
    if (config or {}).get("method") == "extract_hidden_states":
        yield (
            "hiddenStates",
            {
                "layers": _at(config, "draft_model_config", "hf_config", "eagle_aux_hidden_state_layer_ids") or [],
                "connector": _at(args, "kv_transfer_config", "kv_connector") or "",
                "path": _at(args, "kv_transfer_config", "kv_connector_extra_config", "shared_storage_path") or "",
            },
        )


def _at(value: Any, *names: str) -> Any:
    """The value behind some names; None where any of them is missing, or is no object."""
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _put(said: dict[str, Any], path: str, value: Any) -> None:
    *parents, name = path.split(".")
    for parent in parents:
        said = said.setdefault(parent, {})
    said[name] = value
