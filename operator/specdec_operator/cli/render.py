"""`specdec render FILE`: the InferenceService that the operator would apply, its flags and memory plan, offline."""

from typing import Annotated, Any

import typer
import yaml
from rich.console import Console
from rich.table import Table

from specdec_operator.cli.reading import kserve_of, model_of, one_sis
from specdec_operator.cli.rendering import rendering
from specdec_operator.cli.shown import Report, text
from specdec_operator.engine.memory.plan import MemoryPlan
from specdec_operator.engine.memory.words import amount
from specdec_operator.errors import Invalid

File = Annotated[str, typer.Argument(help="File with one SpeculativeInferenceService; -: standard input.")]
Config = Annotated[str | None, typer.Option(help="config.json of the model, or its folder, for rules and memory.")]
Plain = Annotated[bool, typer.Option("--plain", help="Render what is served after a rollback.")]
Version = Annotated[
    str | None, typer.Option("--kserve", help="The cluster's KServe, such as 0.20: refuses what it cannot bring.")
]


def render(
    file: File, target: Config = None, draft: Config = None, plain: Plain = False, kserve: Version = None
) -> None:
    """Print the InferenceService as YAML; the runtime, the flags and the memory plan go to standard error."""
    known = kserve_of(kserve)
    body, remarks = one_sis(file, known)
    try:
        made = rendering(body, target=model_of(target), draft=model_of(draft), plain=plain, kserve=known)
    except Invalid as error:
        typer.echo(f"error: {file}: {error.message}", err=True)
        raise typer.Exit(1) from error
    notes = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
    if remarks:
        notes.print(text([Report(file=file, remarks=remarks, seen=1)]), end="")
    notes.print(f"runtime: {made.runtime} on {made.engine}")
    for flag in made.manifest["spec"]["predictor"]["model"]["args"]:
        notes.print(f"  {flag}")
    for part in _memory(made.memory):
        notes.print(part)
    typer.echo(yaml.safe_dump(made.manifest, sort_keys=False, width=110, allow_unicode=True), nl=False)


def _memory(plan: MemoryPlan) -> list[Any]:
    """The memory plan: a table of what takes memory, and its sentences."""
    said = "memory: " + "; ".join(dict.fromkeys(each for each in (plan.because, plan.kv_price, plan.reason) if each))
    if not plan.terms:
        return [said]
    table = Table("memory of one device", "size", "in the budget", "how it is known")
    for term in plan.terms:
        known = "estimate: " if term.estimated and not term.source.startswith("estimate") else ""
        table.add_row(term.name, amount(term.bytes), "yes" if term.counted else "no", f"{known}{term.source}")
    return [table, said]
