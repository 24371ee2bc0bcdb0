"""`specdec import`: flags that people run today -> a sis, or why not."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from specdec_operator.cli.converting import Place, converted
from specdec_operator.cli.documents import Unreadable, documents
from specdec_operator.engine import argv, recorded
from specdec_operator.engine.asked import path_of
from specdec_operator.engine.builds import build_of
from specdec_operator.engine.case import Case
from specdec_operator.engine.check import check
from specdec_operator.engine.rule import Finding, Severity
from specdec_operator.errors import Invalid

Words = Annotated[
    list[str] | None, typer.Argument(help="vLLM's flags, after `--`; `vllm serve MODEL` before them is fine.")
]


def import_(  # noqa: PLR0913, PLR0917 - each is an option of the command line
    words: Words = None,
    service: Annotated[
        str | None, typer.Option("--file", help="An InferenceService in YAML; -: standard input.")
    ] = None,
    config: Annotated[str | None, typer.Option("--speculative-config", help="The JSON alone.")] = None,
    accelerator: Annotated[str, typer.Option(help="nvidia, ascend or cpu.")] = "nvidia",
    version: Annotated[str | None, typer.Option(help="Engine version, such as 0.25.1.")] = None,
    name: Annotated[str, typer.Option(help="Name of the sis.")] = "imported",
    model_uri: Annotated[str, typer.Option(help="Where the target lies.")] = "pvc://models/target",
    draft_uri: Annotated[str, typer.Option(help="Where the draft lies.")] = "pvc://models/draft",
    jsonl: Annotated[str | None, typer.Option(help="Judge recorded configurations, one JSON a line.")] = None,
    models: Annotated[str | None, typer.Option(help="With --jsonl: the models by their names, as JSON.")] = None,
) -> None:
    """Turn vLLM flags, an InferenceService or a speculative configuration into a sis, or say why not."""
    if jsonl is not None:
        _judge_lines(jsonl, models)
        return
    place = Place(name=name, model=model_uri, draft=draft_uri)
    try:
        build = build_of(accelerator, version)
        flags, place = _flags(words or [], service, config, place)
        line = argv.read(flags, build)
    except (Invalid, Unreadable, ValueError, OSError) as error:
        raise _stop([str(error)]) from error
    _show(Case(build=build, speculation=line.speculation, args=line.args), line.findings, place)


def _show(case: Case, written: tuple[Finding, ...], place: Place) -> None:
    findings = (*written, *check(case))
    refused = [_said(each) for each in findings if each.rule.severity is Severity.REFUSED]
    made = converted(case, place)
    if refused or made.body is None:
        raise _stop([*refused, *made.why_not])
    for each in findings:
        typer.echo(f"# {each.rule.severity}: {_said(each)}", err=True)
    typer.echo(yaml.safe_dump(made.body, sort_keys=False, allow_unicode=True), nl=False)


def _said(finding: Finding) -> str:
    return f"{path_of(finding.field)}: {finding.message} (rule {finding.rule.id})"


def _stop(why: list[str]) -> typer.Exit:
    for each in why:
        typer.echo(f"not imported: {each}", err=True)
    return typer.Exit(1)


def _flags(words: list[str], service: str | None, config: str | None, place: Place) -> tuple[list[str], Place]:
    """vLLM's flags out of whatever was given. Raises ValueError where nothing was."""
    if service is not None:
        text = sys.stdin.read() if service == "-" else Path(service).read_text(encoding="utf-8")
        return _of_service(next(iter(documents(text))).data, place)
    if config is not None:
        return [*words, f"--speculative-config={config}"], place
    if not words:
        raise ValueError("give vLLM's flags after `--`, or --file, or --speculative-config")
    return words, place


def _of_service(body: Any, place: Place) -> tuple[list[str], Place]:
    """The flags of an InferenceService's engine, and what else a sis takes over. Raises ValueError otherwise."""
    if not isinstance(body, dict) or body.get("kind") != "InferenceService":
        raise ValueError("the file holds no InferenceService")
    predictor = body.get("spec", {}).get("predictor", {})
    engine: dict[str, Any] = predictor.get("model") or next(iter(predictor.get("containers", ())), {})
    more: dict[str, Any] = {}
    if engine.get("resources"):
        more["resources"] = engine["resources"]
    if isinstance(replicas := predictor.get("minReplicas"), int) and replicas > 1:
        more["replicas"] = replicas
    flags = [*engine.get("command", ()), *engine.get("args", ())]
    uri = engine.get("storageUri", place.model)
    name = body.get("metadata", {}).get("name", place.name)
    return flags, Place(name=name, model=uri, draft=place.draft, more=more)


def _judge_lines(file: str, models: str | None) -> None:
    """Print one verdict a line. Exits with code 2 where a file cannot be read."""
    try:
        kinds = json.loads(Path(models).read_text(encoding="utf-8")) if models else {}
        with sys.stdin if file == "-" else Path(file).open(encoding="utf-8") as lines:
            for verdict in _verdicts(lines, kinds):
                typer.echo(json.dumps(verdict, ensure_ascii=False))
    except (OSError, ValueError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from error


def _verdicts(lines: Iterator[str] | Any, kinds: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for line in lines:
        if line.strip():
            recording = json.loads(line)
            yield recorded.judge(recording, kinds) | {"sis": _has_sis(recording, kinds)}


def _has_sis(recording: Any, kinds: dict[str, Any]) -> bool:
    """Whether a recording can be said as a sis; one that cannot be read is none."""
    try:
        case, _ = recorded.case_of(recording, kinds)
    except (ValueError, TypeError, AttributeError, KeyError):
        return False
    return converted(case, Place()).body is not None
