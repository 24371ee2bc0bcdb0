"""`specdec import`: flags that people run today -> the service that asks for the same, or why there is none."""

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated, Any, Final

import typer
import yaml

from specdec_operator import names
from specdec_operator.cli.input import text_of
from specdec_operator.engine import command_line
from specdec_operator.engine.case import Case, Json
from specdec_operator.engine.check import check
from specdec_operator.engine.reverse import PLACED, canonical, reverse
from specdec_operator.engine.rule import Finding, Severity
from specdec_operator.engine.translate import path_of, translate
from specdec_operator.engine.version import build_of
from specdec_operator.errors import Invalid
from specdec_operator.staging.layout import DRAFT_PATH
from specdec_operator.validation.check import completed
from specdec_operator.validation.documents import Unreadable, documents

Body = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What a command line does not say: the name of the service, and where its models lie."""

    name: str = "imported"
    model: str = "pvc://models/target"
    draft: str = "pvc://models/draft"
    more: Json = field(default_factory=lambda: MappingProxyType({}))
    """Further parts of the spec, such as resources and replicas."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """The service, or None, and why not."""

    body: Body | None
    why_not: tuple[str, ...] = ()


def converted(case: Case, place: Place) -> Converted:
    """The service for a case. It is checked as the API server would, and translated back: it must mean the same."""
    reversed_ = reverse(case, draft={"uri": place.draft})
    if reversed_.why_not:
        return Converted(body=None, why_not=reversed_.why_not)
    spec = {
        "model": {"uri": place.model},
        "speculation": reversed_.speculation,
        "engine": reversed_.engine,
        **place.more,
    }
    spec = {name: part for name, part in spec.items() if part is not None}
    body = {"apiVersion": names.API_VERSION, "kind": names.KIND, "metadata": {"name": place.name}, "spec": spec}
    whole, refused = completed(body)
    if refused:
        return Converted(body=None, why_not=tuple(f"{each.path}: {each.message}" for each in refused))
    try:
        back = translate(whole["spec"], draft_path=DRAFT_PATH, synthetic=True, target=case.target, draft=case.draft)
    except Invalid as error:
        return Converted(body=None, why_not=(error.message,))
    if _meaning(back.case) != _meaning(case):
        return Converted(body=None, why_not=("the spec cannot say all of it",))
    return Converted(body=body)


def _meaning(case: Case) -> tuple[Json | None, Json]:
    """The configuration and the flags, without what the spec says elsewhere."""
    config = canonical(case)
    if config is not None and "model" in config and config["method"] != "custom_class":
        config["model"] = "a draft"
    return config, {name: value for name, value in case.args.items() if name not in PLACED}


_WORDS: Final = "vLLM's flags, after `--`; `vllm serve MODEL` before them is fine."
Words = Annotated[list[str] | None, typer.Argument(help=_WORDS)]
File = Annotated[str | None, typer.Option("--file", help="An InferenceService in YAML; -: standard input.")]


def import_(
    words: Words = None,
    service: File = None,
    config: Annotated[str | None, typer.Option("--speculative-config", help="The JSON alone.")] = None,
    accelerator: Annotated[str, typer.Option(help="nvidia, ascend or cpu.")] = "nvidia",
    version: Annotated[str | None, typer.Option(help="Engine version, such as 0.25.1.")] = None,
    name: Annotated[str, typer.Option(help="Name of the service.")] = "imported",
    model_uri: Annotated[str, typer.Option(help="Where the target lies.")] = "pvc://models/target",
    draft_uri: Annotated[str, typer.Option(help="Where the draft lies.")] = "pvc://models/draft",
) -> None:
    """Turn vLLM flags, an InferenceService or a speculative configuration into a service, or say why not."""
    place = Place(name=name, model=model_uri, draft=draft_uri)
    try:
        build = build_of(accelerator, version)
        flags, place = _flags(words or [], service, config, place)
        line = command_line.read(flags, build)
    except (Invalid, Unreadable, ValueError, OSError) as error:
        raise _stop([str(error)]) from error
    _show(Case(build=build, speculation=line.speculation, args=line.args), line.findings, place)


def _show(case: Case, written: tuple[Finding, ...], place: Place) -> None:
    findings = (*written, *check(case))
    refused = [_sentence(each) for each in findings if each.rule.severity is Severity.REFUSED]
    made = converted(case, place)
    if refused or made.body is None:
        raise _stop([*refused, *made.why_not])
    for each in findings:
        typer.echo(f"# {each.rule.severity}: {_sentence(each)}", err=True)
    typer.echo(yaml.safe_dump(made.body, sort_keys=False, allow_unicode=True), nl=False)


def _sentence(finding: Finding) -> str:
    return f"{path_of(finding.field)}: {finding.message} (rule {finding.rule.id})"


def _stop(why: list[str]) -> typer.Exit:
    for each in why:
        typer.echo(f"not imported: {each}", err=True)
    return typer.Exit(1)


def _flags(words: list[str], service: str | None, config: str | None, place: Place) -> tuple[list[str], Place]:
    """vLLM's flags out of whatever was given. Raises ValueError where nothing was."""
    if service is not None:
        return _of_service(next(iter(documents(text_of(service)))).data, place)
    if config is not None:
        return [*words, f"--speculative-config={config}"], place
    if not words:
        raise ValueError("give vLLM's flags after `--`, or --file, or --speculative-config")
    return words, place


def _of_service(body: Any, place: Place) -> tuple[list[str], Place]:
    """The flags of an InferenceService's engine, and what else is taken over. Raises ValueError otherwise."""
    if not isinstance(body, dict) or body.get("kind") != "InferenceService":
        raise ValueError("the file holds no InferenceService")
    predictor = body.get("spec", {}).get("predictor", {})
    engine: dict[str, Any] = predictor.get("model") or next(iter(predictor.get("containers", ())), {})
    more = {"resources": engine["resources"]} if engine.get("resources") else {}
    if isinstance(replicas := predictor.get("minReplicas"), int) and replicas > 1:
        more["replicas"] = replicas
    flags = [*engine.get("command", ()), *engine.get("args", ())]
    uri = engine.get("storageUri", place.model)
    name = body.get("metadata", {}).get("name", place.name)
    return flags, Place(name=name, model=uri, draft=place.draft, more=more)
