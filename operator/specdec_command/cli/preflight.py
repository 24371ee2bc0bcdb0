"""`specdec preflight TARGET [DRAFT]`: what the runtime image would find on two local folders, before it is asked."""

from pathlib import Path
from typing import Annotated, Final

import typer
from rich.table import Table
from rich.text import Text

from specdec_command.cli.input import Form, Shown, as_json, one_service, say, stop
from specdec_command.cli.render import rendering
from specdec_engine.accelerators import Accelerator
from specdec_engine.rule import Finding, Severity, deployable
from specdec_engine.version import major_minor
from specdec_operator.engine.image import choose_engine
from specdec_operator.errors import Invalid
from specdec_runtime import flags, refusal
from specdec_runtime.preflight import WORDS, inspect
from specdec_runtime.preflight.command import flags_of
from specdec_runtime.preflight.surroundings import Surroundings

FINE, REFUSED = 0, 1
_FOLDER: Final = "preflight reads the folder of a downloaded model, with its config.json"
_STYLES: Final = {Severity.REFUSED: "bold red", Severity.WARNED: "yellow", Severity.NOTED: "dim"}


Target = Annotated[Path, typer.Argument(help="Folder of the target model, downloaded.")]
Draft = Annotated[Path | None, typer.Argument(help="Folder of the draft model or head, downloaded.")]
Method = Annotated[str | None, typer.Option(help="Speculative method. Default: draft_model with a draft.")]
Tokens = Annotated[int | None, typer.Option(min=1, help="K: tokens drafted per step.")]
Length = Annotated[int | None, typer.Option("--max-model-len", min=1, help="Maximum context length of the server.")]
Engine = Annotated[str | None, typer.Option("--vllm", metavar="VERSION", help="Version of vLLM, such as 0.33.0.")]
On = Annotated[Accelerator | None, typer.Option(help="The hardware of the engine.")]
Service = Annotated[
    str | None, typer.Option(metavar="FILE", help="File with one service, for flags, engine and accelerator.")
]


def preflight(  # noqa: PLR0913 - one parameter is one option of the command line
    target: Target,
    draft: Draft = None,
    *,
    method: Method = None,
    tokens: Tokens = None,
    max_model_len: Length = None,
    vllm: Engine = None,
    accelerator: On = None,
    service: Service = None,
    output: Shown = Form.TEXT,
) -> None:
    """Look at two model folders as the runtime image does before it starts vLLM.

    Exit codes: 0 nothing is refused, 1 something is, 2 the command or the service could not be read.
    """
    for each in (target, draft):
        if each is not None and not each.is_dir():
            raise stop(f"{each}: no such folder; {_FOLDER}")
    given = (method, tokens, max_model_len, vllm, accelerator)
    if service is not None and any(each is not None for each in given):
        raise stop("--service already sets method, tokens, context, engine and accelerator; remove the other options")
    if service is not None:
        arguments, around = _of_service(service, target, draft)
    else:
        arguments, around = flags_of(target, draft, method, tokens, max_model_len), _place(vllm, accelerator)
    findings = inspect(arguments, around)
    if output is Form.JSON:
        typer.echo(as_json([_shown(each) for each in findings]))
    else:
        _text(findings, arguments)
    raise typer.Exit(FINE if deployable(findings) else REFUSED)


def _shown(finding: Finding) -> dict[str, str]:
    rule = finding.rule
    return {"id": rule.id, "severity": WORDS[rule.severity], "field": finding.field, "sentence": finding.message}


def _place(vllm: str | None, accelerator: Accelerator | None) -> Surroundings:
    engine = major_minor(vllm) if vllm is not None else None
    if vllm is not None and engine is None:
        raise stop(f"--vllm is {vllm!r}: it must be a version of vLLM; write it as 0.33 or 0.33.0")
    return Surroundings(engine=engine, accelerator=accelerator)


def _of_service(file: str, target: Path, draft: Path | None) -> tuple[flags.Flags, Surroundings]:
    """The flags that the operator would render for a service, with the local folders in the place of its artifacts."""
    document, _ = one_service(file)
    body = document.data
    try:
        made = rendering(body)
        arguments = flags.read(made.flags)
    except (Invalid, refusal.RefusedError) as error:
        raise stop(f"{file}: {error}") from error
    speculation = dict(arguments.speculation or {})
    if (arguments.draft is None) != (draft is None):
        named = "no draft" if arguments.draft is None else "a draft"
        raise stop(
            f"{file} needs {named}: the command line must have the same number of folders; correct one of the two"
        )
    if draft is not None:
        speculation["model"] = str(draft.absolute())
    engine = body["spec"].get("engine", {})
    accelerator = engine.get("accelerator", Accelerator.NVIDIA.value)
    build = choose_engine(engine).build
    around = Surroundings(engine=major_minor(str(build.vllm)), accelerator=Accelerator(accelerator))
    args = {**arguments.args, "model": str(target.absolute())}
    return flags.Flags(args=args, speculation=speculation or None), around


def _text(findings: tuple[Finding, ...], arguments: flags.Flags) -> None:
    if findings:
        table = Table("severity", "finding and field", "problem and reason", show_lines=True)
        for each in findings:
            severity = Text(WORDS[each.rule.severity], style=_STYLES[each.rule.severity])
            where = Text(f"{each.rule.id}\n{each.field}", overflow="fold")
            table.add_row(severity, where, Text(each.message, overflow="fold"))
        say(table)
    refused = sum(each.rule.severity is Severity.REFUSED for each in findings)
    verdict = f"{refused} of {len(findings)} findings prevent a start" if refused else "no problem found"
    typer.echo(f"{arguments.method or 'no speculation'}: {verdict}")
