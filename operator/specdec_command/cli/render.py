"""`specdec render FILE`: the InferenceService that the operator would apply, its flags and memory plan, offline."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.table import Table

from specdec_command.cli.input import as_yaml, kserve_of, model_of, one_service, stop
from specdec_command.validation.check import DocumentProblem, allows_synthetic, crd_schema, problem_of
from specdec_command.validation.documents import Document
from specdec_command.validation.report import FileReport, text
from specdec_command.validation.schema import filled
from specdec_engine.case import ModelFolderFacts
from specdec_engine.memory.explain import amount
from specdec_engine.memory.plan import MemoryPlan
from specdec_engine.rule import Finding
from specdec_operator.api.spec import Owner, Spec
from specdec_operator.engine.instrument import Instrumented
from specdec_operator.errors import Invalid
from specdec_operator.guard.decisions import Rollback
from specdec_operator.guard.state import Phase, State
from specdec_operator.render.inference_service import render as inference_service
from specdec_operator.render.plan import plan, refuse
from specdec_operator.staging.kserve import KServe

_ASKED: Final = Rollback(reason="Asked", message="rendered without speculation", at=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendering:
    """The InferenceService, and what it runs: engine, flags, memory plan, and how its pods are instrumented.

    warnings: what works and the user should know, with what is known of the models.
    """

    manifest: dict[str, Any]
    engine: str
    flags: tuple[str, ...]
    memory: MemoryPlan
    instrument: Instrumented
    warnings: tuple[Finding, ...]


def rendering(
    body: dict[str, Any],
    *,
    target: ModelFolderFacts | None = None,
    draft: ModelFolderFacts | None = None,
    baseline: bool = False,
    kserve: KServe | None = None,
) -> Rendering:
    """What the operator would apply, with what is known of the models and of KServe.

    The owner reference is left out: only a cluster gives its UID. Raises Invalid for what it would refuse.
    """
    spec = Spec.model_validate(filled(body, crd_schema())["spec"])
    meta = body["metadata"]
    state = State(phase=Phase.SERVING, since=0.0, speculation="", rollback=_ASKED if baseline else None)
    synthetic = allows_synthetic(body)
    planned = plan(spec, state, name=meta["name"], synthetic=synthetic, target=target, draft=draft, kserve=kserve)
    refuse(planned)
    owner = Owner(name=meta["name"], namespace=meta.get("namespace", "default"), uid="")
    manifest = inference_service(planned, owner).manifest
    del manifest["metadata"]["ownerReferences"]
    return Rendering(
        manifest=manifest,
        engine=str(planned.build),
        flags=planned.args,
        memory=planned.memory,
        instrument=planned.instrument,
        warnings=planned.warnings,
    )


File = Annotated[str, typer.Argument(help="File with one SpeculativeInferenceService; -: standard input.")]
Config = Annotated[str | None, typer.Option(help="config.json of the model, or its folder, for rules and memory.")]
Baseline = Annotated[bool, typer.Option("--plain", help="Render the baseline that is served after a rollback.")]
Version = Annotated[
    str | None,
    typer.Option(
        "--kserve", help="The cluster's KServe version, such as 0.20. Artifacts that it cannot provide are rejected."
    ),
]


def render(
    file: File, target: Config = None, draft: Config = None, baseline: Baseline = False, kserve: Version = None
) -> None:
    """Print the InferenceService as YAML; the runtime, the flags and the memory plan go to standard error."""
    version = kserve_of(kserve)
    document, problems = one_service(file, version)
    try:
        made = rendering(
            document.data, target=model_of(target), draft=model_of(draft), baseline=baseline, kserve=version
        )
    except Invalid as error:
        raise stop(f"{file}: {error.message}", 1) from error
    notes = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
    problems += tuple(each for each in _of_models(document, made.warnings) if each not in problems)
    if problems:
        notes.print(text([FileReport(file=file, problems=problems, services=1)]), end="")
    container = made.manifest["spec"]["predictor"]["model"]
    notes.print(f"runtime: {container['runtime']} on {made.engine}")
    if made.instrument.reason:
        notes.print(f"instrument: {made.instrument.how}: {made.instrument.message}")
    for flag in container["args"]:
        notes.print(f"  {flag}")
    device = made.memory.device
    if device.source:
        notes.print(f"device: {amount(device.bytes) + ', ' if device.bytes else ''}{device.source}")
    for part in _memory(made.memory):
        notes.print(part)
    typer.echo(as_yaml(made.manifest), nl=False)


def _of_models(document: Document, warnings: Sequence[Finding]) -> Iterator[DocumentProblem]:
    """What the rules find with the models' configs: more than in the file alone."""
    yield from (problem_of(document, each) for each in warnings)


def _memory(memory: MemoryPlan) -> list[Any]:
    """The memory plan: a table of what takes memory, and its sentences."""
    sentences = "memory: " + "; ".join(dict.fromkeys(filter(None, (memory.because, memory.kv_price, memory.reason))))
    if not memory.terms:
        return [sentences]
    table = Table("memory of one device", "size", "in the budget", "source")
    for term in memory.terms:
        source = "estimate: " if term.estimated and not term.source.startswith("estimate") else ""
        table.add_row(term.name, amount(term.bytes), "yes" if term.counted else "no", f"{source}{term.source}")
    return [table, sentences]
