"""A command line, with or without an InferenceService around it, as the service that asks for the same.

The service is checked as the API server would check it, and asked back what it means: it must be what was read.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final

import yaml

from specdec_command.importing import legacy
from specdec_command.importing.command import Command
from specdec_command.importing.downloads import without_downloads
from specdec_command.importing.ended_keys import without_ended_keys
from specdec_command.importing.inference_service import InferenceServiceParts
from specdec_command.importing.manifest import Lost, Replaced
from specdec_command.importing.models import Models, models_of
from specdec_command.importing.old_image import variables_with_files, without_its_files
from specdec_command.importing.platform import without_foreign_parts
from specdec_command.importing.reasons import over_several
from specdec_command.importing.secret_places import without_secret_flags, without_secrets
from specdec_command.importing.secrets import hidden, secrets_in
from specdec_command.importing.several_pods import several_pods
from specdec_command.importing.source import Source
from specdec_command.importing.trim import trimmed
from specdec_command.importing.without_effect import placed, without_empty
from specdec_command.validation.check import completed
from specdec_engine import command_line
from specdec_engine.case import Case, Json
from specdec_engine.check import check
from specdec_engine.flags import flag_text, option
from specdec_engine.methods import LOOKUPS
from specdec_engine.pod_devices import (
    asked_in_full,
    devices_asked,
    devices_wanted,
    other_devices,
    over_several_pods,
)
from specdec_engine.rule import Finding, Severity
from specdec_engine.version import Build
from specdec_operator import names
from specdec_operator.engine.reverse import PLACED, canonical, reverse
from specdec_operator.engine.translate import path_of, translate
from specdec_operator.errors import Invalid
from specdec_operator.staging.layout import DRAFT_PATH

Body = dict[str, Any]
_NAME: Final = "imported"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The user's options. None: what is read decides. config: the JSON of --speculative-config.

    packages: beside the engine, in the image that will serve.
    """

    build: Build
    packages: frozenset[str] = frozenset()
    name: str | None = None
    model: str | None = None
    draft: str | None = None
    config: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """The service, or None, and why there is none; what was not carried over, what the operator renders itself, and
    what a reader should know. findings: of the engine's rules. secrets: texts that are not printed.
    """

    body: Body | None = None
    why_not: tuple[str, ...] = ()
    lost: tuple[Lost, ...] = ()
    replaced: tuple[Replaced, ...] = ()
    notes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    secrets: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """The parts of a spec, or None, and why not."""

    spec: Body | None
    why_not: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class _Reading:
    """A command line while it is read."""

    case: Case
    models: Models
    lost: list[Lost] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def imported(parts: InferenceServiceParts, wanted: Wanted) -> Imported:
    """The service for what was read."""
    parts.lost += without_foreign_parts(parts)
    reading = _read(parts, wanted)
    findings = [each for each in reading.findings if each.rule.severity is not Severity.REFUSED]
    refused = [_sentence(each) for each in reading.findings if each.rule.severity is Severity.REFUSED]
    if spread := several_pods(reading.case):
        refused.insert(0, f"{spread}: {over_several(parts.source)}")
    made = converted(reading.case, draft=reading.models.draft)
    lost = [*parts.lost, *reading.lost, *reading.models.lost]
    notes = [*parts.notes, *reading.models.notes, *variables_with_files(parts)]
    if parts.why_not or refused or made.spec is None:
        why_not = (*parts.why_not, *refused, *made.why_not)
        return Imported(why_not=why_not, lost=tuple(lost), secrets=parts.secrets)
    spec = _whole(made.spec, parts, reading.models)
    _keep_lowered(spec, reading.case.args, notes)
    spec, secret = without_secrets(spec, parts)
    body = {"apiVersion": names.API_VERSION, "kind": names.KIND, "metadata": _meta(parts, wanted), "spec": spec}
    body, dropped, why_not = trimmed(body, parts.sources)
    return Imported(
        body=None if why_not else body,
        why_not=why_not,
        lost=(*lost, *secret, *dropped),
        replaced=tuple(parts.replaced),
        notes=tuple(notes),
        findings=tuple(findings),
        secrets=parts.secrets,
    )


def _meta(parts: InferenceServiceParts, wanted: Wanted) -> Body:
    place = {"namespace": parts.namespace} if parts.namespace else {}
    return {"name": wanted.name or parts.name or _NAME, **place}


def _read(parts: InferenceServiceParts, wanted: Wanted) -> _Reading:
    """The case that the command line describes, and the places of its models. Flags barred from specs are listed."""
    lost: list[Lost] = []
    config = () if wanted.config is None else (f"--speculative-config={wanted.config}",)
    line = command_line.read((*parts.command.words, *config), wanted.build)
    args = dict(line.args)
    legacy.without_a_file(args, lost)
    speculation = without_ended_keys(line.speculation, wanted.build, lost)
    speculation = legacy.with_todays_speculation(speculation, args, lost)
    models = models_of(args, speculation, parts, model=wanted.model, draft=wanted.draft)
    lost += without_secret_flags(args, parts)
    lost += without_its_files(args, parts)
    lost += without_downloads(parts, models.uris)
    lost += without_empty(parts.command.words, args)
    case = Case(build=wanted.build, speculation=models.speculation, args=args, packages=wanted.packages)
    case = _with_devices(case, parts)
    reading = _Reading(case=case, models=models, lost=lost)
    kept: dict[str, Any] = dict(args)
    for each in check(case):
        flag = each.field.removeprefix("args.").partition(".")[0]
        if each.rule.severity is Severity.REFUSED and each.field.startswith("args.") and flag in args:
            kept.pop(flag, None)
            way_out = f"remove it, or change it (rule {each.rule.id})"
            lost.append(Lost(field=flag_text(flag, args[flag]), why=each.message, way_out=way_out))
    parts.replaced += placed(kept)
    reading.case = replace(case, args=kept)
    reading.findings += [*line.findings, *check(reading.case)]
    return reading


def _with_devices(case: Case, parts: InferenceServiceParts) -> Case:
    """The case with what its pod asks for. A line that names no devices ran where they are: they are asked for."""
    resources = parts.spec.get("resources") or {}
    asked, others = devices_asked(resources), other_devices(resources)
    more = {} if over_several_pods(case) else asked_in_full(devices_wanted(case), case.build.flavor)
    if more and asked is None and not others:
        parts.spec["resources"] = {**resources, "limits": {**resources.get("limits", {}), **more["limits"]}}
        asked = devices_asked(more)
    return replace(case, devices=asked, other_devices=others)


def _sentence(finding: Finding) -> str:
    return f"{path_of(finding.field)}: {finding.message} (rule {finding.rule.id})"


def _whole(spec: Body, parts: InferenceServiceParts, models: Models) -> Body:
    """The spec with everything around the command line."""
    made = {"model": models.target, **spec}
    for key, value in parts.spec.items():
        made[key] = {**made[key], **value} if isinstance(made.get(key), dict) else value
    pod = made.get("pod")
    volumes = parts.sources.get("spec.pod.volumes", "")
    parts.replaced += [
        Replaced(field=f"{volumes} ({name}) and its mount", by="the operator mounts the PVC as a model")
        for name in sorted(models.volumes)
    ]
    if pod and models.volumes:
        pod["volumes"] = [each for each in pod.get("volumes", ()) if each.get("name") not in models.volumes]
        pod["volumeMounts"] = [each for each in pod.get("volumeMounts", ()) if each.get("name") not in models.volumes]
        made["pod"] = {key: value for key, value in pod.items() if value}
    return {key: value for key, value in made.items() if value not in ({}, None)}


def _keep_lowered(spec: Body, args: Json, notes: list[str]) -> None:
    """A share that its owner chose beside speculation that needs memory is served as it is: who lowered it by hand
    wants it lowered once.
    """
    share = args.get("gpu_memory_utilization")
    method = (spec.get("speculation") or {}).get("method")
    if share is None or method is None or method in LOOKUPS:
        return
    spec["memory"] = {**spec.get("memory", {}), "draftReserve": "None"}
    notes.append(
        f"--gpu-memory-utilization={share} is used unchanged (memory.draftReserve None); remove both lines to make the "
        "operator lower the engine's share for the draft"
    )


def converted(case: Case, *, draft: Json) -> Converted:
    """The parts of a spec for a case, asked back. draft: the spec's fields for the place of the draft."""
    reversed_ = reverse(case, draft=draft)
    if reversed_.why_not:
        return Converted(spec=None, why_not=reversed_.why_not)
    parts = {"speculation": reversed_.speculation, "engine": reversed_.engine}
    spec = {name: part for name, part in parts.items() if part is not None}
    body = {"apiVersion": names.API_VERSION, "kind": names.KIND, "metadata": {"name": _NAME}}
    whole, refused = completed(body | {"spec": {"model": {"uri": "pvc://models/target"}, **spec}})
    if refused:
        return Converted(spec=None, why_not=tuple(f"{each.path}: {each.message}" for each in refused))
    try:
        back = translate(whole["spec"], draft_path=DRAFT_PATH, synthetic=True, target=case.target, draft=case.draft)
    except Invalid as error:
        return Converted(spec=None, why_not=(error.message,))
    if unsaid := tuple(_unsaid(back.case, case)):
        return Converted(spec=None, why_not=unsaid)
    return Converted(spec=spec)


def _unsaid(back: Case, case: Case) -> Iterator[str]:
    """The flags and keys of a case that a spec does not hold."""
    (config, flags), (asked, wanted) = _meaning(back), _meaning(case)
    flags = _without_added_graphs(flags, wanted)
    for name in sorted({*flags, *wanted}):
        if flags.get(name) != wanted.get(name):
            yield (
                f"{option(name)}={wanted.get(name)}: the spec has no equivalent: remove it, or guard the existing "
                "service"
            )
    if config != asked:
        mine, theirs = config or {}, asked or {}
        keys = [key for key in sorted({*mine, *theirs}) if mine.get(key) != theirs.get(key)]
        gone = ", ".join(keys)
        yield f"--speculative-config: the spec has no equivalent for {gone}: remove it, or guard the existing service"


def _without_added_graphs(flags: Json, wanted: Json) -> Json:
    """The flags without the graph sizes that the operator adds where the user chose none."""
    name, sizes = "compilation_config", "cudagraph_capture_sizes"
    given = wanted.get(name) or {}
    if not isinstance(flags.get(name), dict) or sizes in given:
        return flags
    rest = {key: value for key, value in flags[name].items() if key != sizes}
    return {key: value for key, value in flags.items() if key != name} | (
        {name: rest} if rest or name in wanted else {}
    )


def _meaning(case: Case) -> tuple[Json | None, Json]:
    """The configuration and the flags, without what is elsewhere in the spec."""
    config = canonical(case)
    if config is not None and "model" in config and config["method"] != "custom_class":
        config["model"] = "a draft"
    return config, _with_sampler_defaults({name: value for name, value in case.args.items() if name not in PLACED})


_SAMPLER: Final = "rejection_sampler_config"
_SAMPLER_DEFAULTS: Final = MappingProxyType(
    {"enable_block_verify": False, "enable_entropy_verify": False, "posterior_threshold": 0.95, "posterior_alpha": 0.4}
)
"""What vllm-ascend and spec.speculation.ascend take for a key that is left out (vllm-ascend: ascend_config.py)."""


def _with_sampler_defaults(flags: dict[str, Any]) -> dict[str, Any]:
    config = flags.get("additional_config")
    if not isinstance(config, dict) or not isinstance(config.get(_SAMPLER), dict):
        return flags
    return flags | {"additional_config": config | {_SAMPLER: {**_SAMPLER_DEFAULTS, **config[_SAMPLER]}}}


def text(made: Imported, origin: str) -> str:
    """The service as YAML, below comments on each difference from its origin."""
    said = [f"# Imported from {origin} by `specdec import`."]
    said += [f"# NOT CARRIED OVER: {_one_line(str(each))}" for each in made.lost]
    said += [f"# REPLACED: {_one_line(str(each))}" for each in made.replaced]
    said += [f"# NOTE: {_one_line(each)}" for each in made.notes]
    comments = [hidden(each, made.secrets) for each in said]
    return "\n".join(comments) + "\n" + yaml.safe_dump(made.body, sort_keys=False, allow_unicode=True)


def _one_line(words: str) -> str:
    return " ".join(words.split())


def from_words(command: Command, given: Sequence[str] = ()) -> InferenceServiceParts:
    """The parts that a command line alone gives. given: as the user typed it."""
    env = [{"name": name, "value": value} for name, value in command.env]
    source = Source(body={}, kind="command line", flags_known=True)
    parts = InferenceServiceParts(name=None, namespace=None, command=command, source=source, lost=list(command.lost))
    parts.secrets = frozenset(secrets_in(list(given)))
    parts.carry(env, "engine.env", "command line")
    return parts
