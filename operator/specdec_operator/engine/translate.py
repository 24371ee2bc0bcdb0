"""What a spec requests of the engine, in the engine's terms: the speculative configuration, the flags, and the field of
the spec that each of them comes from.

It reads the spec as plain JSON (camel case, as in YAML), so that `specdec validate` needs no other code.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from specdec_engine import command_line
from specdec_engine.case import Case, Json, ModelFolderFacts
from specdec_engine.flags import option
from specdec_engine.graphs import graph_flags
from specdec_engine.methods import NPU_MOST_TOKENS, SUFFIX_TREE_DEPTH, plain_name
from specdec_engine.pod_devices import devices_asked, other_devices
from specdec_engine.rule import Finding
from specdec_engine.version import PACKAGES, Build, Flavor, Version
from specdec_operator.engine.devices import device_of
from specdec_operator.engine.image import EngineChoice, choose_engine
from specdec_operator.engine.merged_flags import MERGED, merged, without
from specdec_operator.engine.owned_flags import FLAGS, refuse_owned, refuse_templates
from specdec_operator.errors import Invalid
from specdec_operator.names import SYNTHETIC_ANNOTATION

_RANKS: Final = (16, 32, 64, 128, 256, 320, 512)
"""Of --max-lora-rank, from its default on: vllm/config/lora.py."""


def adapter_flags(model: Json, written: Json) -> Iterator[tuple[str, Any]]:
    """What LoRA adapters need of the engine; of their number and rank the user's own flags win. Raises Invalid for
    modules beside them.
    """
    adapters = model.get("adapters")
    if not adapters:
        return
    if "lora_modules" in written:
        rule = "the operator renders this flag from spec.model.adapters; list all adapters there"
        raise Invalid("spec.engine.args", option("lora_modules"), rule)
    yield "enable_lora", True
    if len(adapters) > 1 and "max_loras" not in written:
        yield "max_loras", len(adapters)
    largest = max(each.get("rank") or 0 for each in adapters)
    if largest > _RANKS[0] and "max_lora_rank" not in written:
        yield "max_lora_rank", next(each for each in _RANKS if each >= largest)


CONFIG: Final = (
    ("tokens", "num_speculative_tokens"),
    ("customClass", "model"),
    ("draft.tensorParallelSize", "draft_tensor_parallel_size"),
    ("draft.quantization", "quantization"),
    ("draft.maxModelLen", "max_model_len"),
    ("ngram.lookupMin", "prompt_lookup_min"),
    ("ngram.lookupMax", "prompt_lookup_max"),
    ("suffix.maxTreeDepth", "suffix_decoding_max_tree_depth"),
    ("suffix.maxCachedRequests", "suffix_decoding_max_cached_requests"),
    ("suffix.maxSpecFactor", "suffix_decoding_max_spec_factor"),
    ("suffix.minTokenProb", "suffix_decoding_min_token_prob"),
    ("parallelDrafting", "parallel_drafting"),
    ("heterogeneousVocabulary", "use_heterogeneous_vocab"),
)
"""Field below spec.speculation, key of --speculative-config. False is not sent: older versions do not know the key."""
WORDS: Final = (
    ("draftSampling", "draft_sample_method", {"Probabilistic": "probabilistic"}),
    ("rejection", "rejection_sample_method", {"Block": "block", "Fly": "fly", "Synthetic": "synthetic"}),
)
"""Fields whose words differ. A word that is missing here is the engine's default, which is not sent."""
ASCEND: Final = (
    ("blockVerify", "enable_block_verify"),
    ("entropyVerify", "enable_entropy_verify"),
    ("posteriorThreshold", "posterior_threshold"),
    ("posteriorAlpha", "posterior_alpha"),
)
_OPTION_FIELDS: Final = MappingProxyType(
    {key: f"spec.speculation.{path}" for path, key in CONFIG}
    | {key: f"spec.speculation.{path}" for path, key, _ in WORDS}
    | {
        "method": "spec.speculation.method",
        "model": "spec.speculation.draft",
        "num_speculative_tokens_per_batch_size": "spec.speculation.tokensByBatchSize",
        "draft_model_config": "spec.speculation.hiddenStates",
    }
)
"""Keys of --speculative-config that have a field of their own."""
_MANY_REQUESTS: Final = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineRequest:
    """What is asked of the engine: the case for its rules, and the flags that fields of the spec stand for.

    extra: the user's own flags as they are written, without those that became part of `flags`.
    findings: what is wrong with the user's own flags as they are written.
    """

    case: Case
    flags: Json
    extra: tuple[str, ...]
    findings: tuple[Finding, ...]


def path_of(field: str) -> str:
    """Where in the spec a field of the engine was set; a field of the spec keeps its own path."""
    place, _, key = field.partition(".")
    key = key.split(".", 1)[0].split("[", 1)[0]
    match place:
        case "speculative_config" if key:
            return _OPTION_FIELDS.get(key, f"spec.speculation.options.{key}")
        case "args":
            fields = {flag: f"spec.engine.{path}" for path, flag in FLAGS}
            return fields.get(key, "spec.speculation.ascend" if key == "additional_config" else "spec.engine.args")
        case "env":
            return "spec.engine.env"
    whole = {"draft": "spec.speculation.draft", "target": "spec.model", "build": "spec.engine.version", "spec": field}
    return whole.get(place, "spec.speculation")


def translate(
    spec: Json,
    *,
    draft_path: str,
    speculate: bool = True,
    synthetic: bool = False,
    target: ModelFolderFacts | None = None,
    draft: ModelFolderFacts | None = None,
    chosen: EngineChoice | None = None,
) -> EngineRequest:
    """What a spec requests. Raises Invalid for what this engine cannot be set to.

    speculate: False requests the baseline, whatever the spec contains. synthetic: whether acceptance may be simulated.
    target, draft: what is known of the models. chosen: the engine; None: the one that the spec alone names.
    """
    engine: Json = spec.get("engine") or {}
    args: list[str] = engine.get("args") or []
    refuse_owned(args)
    refuse_templates(spec)
    chosen = chosen or choose_engine(engine)
    build = chosen.build
    speculation: Json | None = spec.get("speculation") if speculate else None
    flags = dict(_engine_flags(engine)) | dict(_side_flags(speculation or {}))
    line = command_line.read(args, build)
    flags |= dict(adapter_flags(spec.get("model") or {}, line.args))
    config = None if speculation is None else _config(speculation, build, flags, draft_path)
    if not synthetic:
        _refuse_synthetic(config or {})
    flags, extra = _merged(flags, args, line.args, build)
    for name, value in graph_flags(build, flags, config or {}, line.args):
        if (rest := without(extra, name, build)) is not None:
            flags, extra = {**flags, name: value}, rest
    case = _case(spec, speculation, chosen)
    case = replace(case, target=target, draft=draft, speculation=config, args={**flags, **line.args, **flags})
    return EngineRequest(case=case, flags=flags, extra=tuple(extra), findings=line.findings)


def _case(spec: Json, speculation: Json | None, chosen: EngineChoice) -> Case:
    """What the spec alone shows to the rules: the engine, the names of the models, the devices."""
    engine: Json = spec.get("engine") or {}
    resources: Json = spec.get("resources") or {}
    return Case(
        build=chosen.build,
        target_name=str(at(spec, "model.uri") or ""),
        draft_name=str(at(speculation, "draft.path") or at(speculation, "draft.uri") or ""),
        env=dict(_environment(engine)),
        packages=_packages(engine, chosen.image),
        devices=devices_asked(resources),
        other_devices=other_devices(resources),
        device_bytes=_device_bytes(spec),
    )


def _device_bytes(spec: Json) -> int | None:
    """The memory of a device, if the spec alone determines it."""
    try:
        return device_of({**spec, "engine": {"accelerator": "nvidia", **(spec.get("engine") or {})}}).bytes
    except Invalid:  # reported when the memory is planned
        return None


def _merged(flags: Json, args: list[str], users: Json, build: Build) -> tuple[dict[str, Any], list[str]]:
    """The flags with the user's keys of the same objects, and the user's arguments without these objects.

    Raises Invalid for another flag of the user's that a field of the spec stands for as well.
    """
    made = dict(flags)
    for name in sorted(flags.keys() & users.keys()):
        rest = without(args, name, build) if name in MERGED else None
        if rest is None:
            raise Invalid("spec.engine.args", option(name), "the operator renders this flag from the spec")
        made[name], args = merged(name, flags[name], users[name]), rest
    return made, args


def _packages(engine: Json, image: str) -> frozenset[str] | None:
    """What is installed beside the engine; not known of an image that is not this release's."""
    return None if image or engine.get("runtime") else PACKAGES[engine.get("accelerator", "nvidia")]


def _refuse_synthetic(config: Json) -> None:
    """Raises Invalid where the engine is to pretend that guesses are accepted."""
    if config.get("rejection_sample_method") == "synthetic":
        rule = f'the answers would not be valid; for a test, annotate the service with {SYNTHETIC_ANNOTATION}: "true"'
        raise Invalid("spec.speculation.rejection", "Synthetic", rule)


def _environment(engine: Json) -> Iterator[tuple[str, str]]:
    """The variables of the engine's container whose values stand in the spec."""
    for each in engine.get("env") or []:
        if isinstance(name := each.get("name"), str) and isinstance(value := each.get("value"), str):
            yield name, value


def _engine_flags(engine: Json) -> Iterator[tuple[str, Any]]:
    for field, flag in FLAGS:
        if _said(value := engine.get(field)):
            yield flag, value


def _side_flags(speculation: Json) -> Iterator[tuple[str, Any]]:
    """Flags beside --speculative-config that parts of spec.speculation stand for."""
    if ascend := speculation.get("ascend"):
        wanted = {key: ascend[field] for field, key in ASCEND if field in ascend}
        yield "additional_config", {"rejection_sampler_config": wanted}
    if states := speculation.get("hiddenStates"):
        connector = states.get("connector", "ExampleHiddenStatesConnector")
        extra = {"shared_storage_path": states["path"]}
        transfer = {"kv_connector": connector, "kv_role": "kv_producer", "kv_connector_extra_config": extra}
        yield "kv_transfer_config", transfer


def _config(speculation: Json, build: Build, flags: Json, draft_path: str) -> Json:
    config: dict[str, Any] = {"method": _method(speculation["method"], build)}
    for path, key in CONFIG:
        if _said(value := at(speculation, path)):
            config[key] = value
    if config.get("prompt_lookup_max") == 1:  # below the default of lookupMin
        config["prompt_lookup_min"] = 1
    for field, key, values in WORDS:
        if word := values.get(speculation.get(field, "")):
            config[key] = word
    draft = speculation.get("draft") or {}
    if draft.get("uri") or draft.get("path"):
        config["model"] = draft_path
    if speculation["method"] == "suffix":
        config.setdefault("num_speculative_tokens", _suffix_tokens(config, build))
    if rows := speculation.get("tokensByBatchSize"):
        config["num_speculative_tokens_per_batch_size"] = _schedule(rows, flags.get("max_num_seqs", _MANY_REQUESTS))
    if states := speculation.get("hiddenStates"):
        config["draft_model_config"] = {"hf_config": {"eagle_aux_hidden_state_layer_ids": list(states["layers"])}}
    return config | _options(speculation.get("options") or {})


def _method(word: str, build: Build) -> str:
    """The engine's name of a method: mtp for all names of MTP. Only the first vllm-ascend keeps the old name."""
    plain = plain_name(word)
    return "deepseek_mtp" if plain == "mtp" and build.ascend == Version(0, 11, 0) else plain


def _suffix_tokens(config: Json, build: Build) -> int:
    """K of suffix decoding: its tree depth, as in the engine, but never above what NPUs can verify."""
    depth: int = config.get("suffix_decoding_max_tree_depth", SUFFIX_TREE_DEPTH)
    return min(depth, NPU_MOST_TOKENS) if build.flavor is Flavor.VLLM_ASCEND else depth


def _schedule(rows: list[Json], most: int) -> list[list[int]]:
    """Rows of tokensByBatchSize as [first, last, K] in numbers of requests."""
    schedule, first = [], 1
    for row in rows:
        last = row.get("upTo") or max(first, most)
        schedule.append([first, last, row["tokens"]])
        first = last + 1
    return schedule


def _options(options: Json) -> dict[str, Any]:
    for key, value in options.items():
        if key in _OPTION_FIELDS:
            raise Invalid(f"spec.speculation.options.{key}", value, f"use the field of this key: {_OPTION_FIELDS[key]}")
    return dict(options)


def _said(value: Any) -> bool:
    """Whether a value is to be sent. 0 is one; None and False are what the engine does by itself."""
    return value is not None and value is not False


def at(part: Any, path: str) -> Any:
    """The value at a dotted path; None if any part of it is missing, or is not an object."""
    value: Any = part
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
