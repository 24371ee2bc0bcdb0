"""`specdec import`: what people run today -> the service that asks for the same, or why there is none."""

import re
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from specdec_command.cli.connect import ClusterChoice, Context, Kubeconfig, Namespace, done
from specdec_command.cli.import_cluster import bodies_of, live
from specdec_command.cli.input import stop, text_of
from specdec_command.importing.command import Command, line
from specdec_command.importing.inference_service import InferenceServiceParts, read
from specdec_command.importing.inputs import inputs_of
from specdec_command.importing.platform import accelerator_of
from specdec_command.importing.secrets import hidden, secrets_in
from specdec_command.importing.service import Imported, Wanted, from_words, imported, text
from specdec_command.importing.source import Source, named
from specdec_command.validation.documents import Unreadable, documents
from specdec_engine.accelerators import Accelerator
from specdec_engine.version import PACKAGES
from specdec_operator import names
from specdec_operator.engine.build import build_of
from specdec_operator.errors import Invalid

NOT_ALL: Final = 3
"""Exit code where something was not carried over."""
_FILE: Final = re.compile(r".*\.(ya?ml|json)", re.IGNORECASE)
_WORDS: Final = (
    "A file with InferenceServices or Deployments; isvc/NAME or deploy/NAME for one in the cluster; or, after `--`, "
    "vLLM's flags, with or without `vllm serve MODEL` before them."
)
_NOTHING: Final = "pass a file, isvc/NAME, vLLM's flags after `--`, or --speculative-config"
_TEMPLATE: Final = "; a template of a Helm chart is rendered first, with `helm template CHART | specdec import -`"
_ALL_ITSELF: Final = (
    "an InferenceService already has flags and a speculative configuration: remove them from the command line"
)
Words = Annotated[list[str] | None, typer.Argument(metavar="[FILE|isvc/NAME|-- FLAGS]", help=_WORDS)]
Config = Annotated[str | None, typer.Option("--speculative-config", help="Only this JSON, without other flags.")]
On = Annotated[Accelerator | None, typer.Option(help="Default: detected from devices, image and variables.")]
Version = Annotated[str | None, typer.Option(help="Engine version, such as 0.25.1.")]
Name = Annotated[str | None, typer.Option(help="Name of the service. Default: the name of the InferenceService.")]
ModelUri = Annotated[str | None, typer.Option(help="Location of the target. Default: the location found in the input.")]
DraftUri = Annotated[str | None, typer.Option(help="Location of the draft. Default: the location found in the input.")]
File = Annotated[str | None, typer.Option("--file", "-f", help="InferenceServices in YAML or JSON; -: standard input.")]


def import_(  # noqa: PLR0913 - one parameter is one option of the command line
    words: Words = None,
    *,
    file: File = None,
    config: Config = None,
    accelerator: On = None,
    version: Version = None,
    name: Name = None,
    model_uri: ModelUri = None,
    draft_uri: DraftUri = None,
    namespace: Namespace = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Convert InferenceServices, vLLM flags or a speculative configuration to services.

    Settings without an equivalent are listed above the service as NOT CARRIED OVER. The exit code is then 3.
    """
    options = _Options(accelerator=accelerator, version=version, name=name, model=model_uri, draft=draft_uri)
    given = list(words or ())
    there = live(given[0]) if len(given) == 1 and file is None and not _is_file(given[0]) else None
    if there and config is not None:
        raise stop(_ALL_ITSELF)
    if there:
        where = ClusterChoice(namespace=namespace, context=context, kubeconfig=kubeconfig)
        done(_from_cluster(*there, options, where))
    if file is None and len(given) == 1 and _is_file(given[0]):
        file = given.pop()
    if file is not None and (given or config):
        raise stop(_ALL_ITSELF)
    if file is not None:
        raise typer.Exit(_show(_of_file(file, options, namespace)))
    raise typer.Exit(_show([("a command line", _of_words(given, config, options, namespace))]))


def _of_words(given: list[str], config: str | None, options: "_Options", namespace: str | None) -> Imported:
    """The service for a command line of vLLM, or for a speculative configuration alone."""
    if not given and config is None:
        raise stop(_NOTHING)
    command = line(given) if given else Command(words=())
    if given and not command.words and command.lost:
        raise stop(f"command line: {_shown(command.lost[0].why, given)}; {command.lost[0].way_out}")
    if given and not command.program and not any(each.startswith("-") for each in command.words):
        raise stop(f"{_shown(' '.join(given), given)!r} is not a file, isvc/NAME, or a vLLM command line: {_NOTHING}")
    parts = from_words(command, given)
    parts.namespace = namespace
    return options.service(parts, config)


def _shown(text: str, given: list[str]) -> str:
    """A text about a command line, without its secrets."""
    return hidden(text, frozenset(secrets_in(given)))


class _Options:
    """The user's options."""

    def __init__(
        self,
        *,
        accelerator: Accelerator | None,
        version: str | None,
        name: str | None,
        model: str | None,
        draft: str | None,
    ) -> None:
        self._accelerator, self._version = accelerator, version
        self._named = {"name": name, "model": model, "draft": draft}

    def service(self, parts: InferenceServiceParts, config: str | None = None) -> Imported:
        """The service for what was read. Exits with 2 for a text that is not a version."""
        found, why_not = accelerator_of(parts)
        if why_not and self._accelerator is None:
            return Imported(why_not=(why_not,), lost=tuple(parts.lost), secrets=parts.secrets)
        try:
            accelerator = (self._accelerator or found).value
            build = build_of(accelerator, self._version)
        except Invalid as error:
            raise stop(error.message) from error
        packages = frozenset(PACKAGES[accelerator])
        return imported(parts, Wanted(build=build, packages=packages, config=config, **self._named))


def _is_file(word: str) -> bool:
    return word == "-" or _FILE.fullmatch(word) is not None or Path(word).is_file()


def _of_file(file: str, options: _Options, namespace: str | None) -> list[tuple[str, Imported]]:
    inputs = inputs_of(_documents(file), namespace)
    if not inputs.sources:
        kinds = ", ".join(sorted({called for called, _ in inputs.ignored}))
        ways = sorted({f"{called}: {way_out}" for called, way_out in inputs.ignored if way_out})
        raise stop(
            "; ".join(
                [f"{file} has no InferenceService of {names.KSERVE_GROUP}" + f", but {kinds}" * bool(kinds), *ways]
            )
        )
    for called, way_out in inputs.ignored:
        typer.echo(f"ignored: {called}: it is not an InferenceService" + f"; {way_out}" * bool(way_out), err=True)
    return [_one(each, options) for each in inputs.sources]


def _documents(file: str) -> list[Any]:
    """What a file holds. Exits with 2 if it cannot be read."""
    try:
        content = text_of(file)
    except (OSError, UnicodeDecodeError) as error:
        raise stop(f"{file}: {error}") from error
    try:
        return [each.data for each in documents(content)]
    except Unreadable as error:
        template = _TEMPLATE if "{{" in content else ""
        raise stop(f"{file}:{error.line}: {error}{template}") from error


def _one(source: Source, options: _Options) -> tuple[str, Imported]:
    parts = read(source)
    name, namespace = named(source.body)
    return f"{source.kind} {namespace}/{name}" if namespace else f"{source.kind} {name}", options.service(parts)


async def _from_cluster(kind: str, name: str, options: _Options, where: ClusterChoice) -> int:
    bodies = await bodies_of(kind, name, where)
    inputs = inputs_of(bodies, where.namespace)
    if not inputs.sources:
        raise stop("; ".join(each for pair in inputs.ignored for each in pair))
    return _show([_one(each, options) for each in inputs.sources[:1]])


def _show(every: list[tuple[str, Imported]]) -> int:
    """Prints services and the findings on them. Returns the exit code: the worst of all."""
    code, first = 0, True
    for origin, made in every:
        for each in made.findings:
            shown = hidden(each.message, made.secrets)
            typer.echo(f"# {each.rule.severity}: {shown} (rule {each.rule.id})", err=True)
        if made.body is None:
            for why in made.why_not:
                typer.echo(f"not imported: {origin}: {hidden(why, made.secrets)}", err=True)
            code = 1
            continue
        typer.echo(("" if first else "---\n") + text(made, origin), nl=False)
        first = False
        if made.lost:
            typer.echo(
                f"{origin}: {len(made.lost)} settings are not carried over; see the list above the service", err=True
            )
            code = code or NOT_ALL
    return code
