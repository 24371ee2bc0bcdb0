"""`specdec import`: what people run today -> the service that asks for the same, or why there is none."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from specdec_command.cli.connect import Context, Kubeconfig, Namespace, done
from specdec_command.cli.input import stop, text_of
from specdec_command.importing.command import Command, line
from specdec_command.importing.inference_service import InferenceServiceParts, read
from specdec_command.importing.platform import accelerator_of
from specdec_command.importing.service import Imported, Wanted, from_words, imported, text
from specdec_command.validation.documents import Unreadable, documents
from specdec_engine.accelerators import Accelerator
from specdec_engine.version import PACKAGES
from specdec_operator import names
from specdec_operator.engine.build import build_of
from specdec_operator.errors import Invalid, Unavailable

if TYPE_CHECKING:
    from specdec_operator.kube.client import KubeClient

NOT_ALL: Final = 3
"""Exit code where something was not carried over."""
_LIVE: Final = re.compile(
    r"(?:isvc|inferenceservices?(?:\.serving\.kserve\.io)?)/(?P<name>[a-z0-9]([-.a-z0-9]*[a-z0-9])?)"
)
_FILE: Final = re.compile(r".*\.(ya?ml|json)", re.IGNORECASE)
_WORDS: Final = (
    "A file with InferenceServices; isvc/NAME for one in the cluster; or, after `--`, vLLM's flags, with or without "
    "`vllm serve MODEL` before them."
)
_NOTHING: Final = "pass a file, isvc/NAME, vLLM's flags after `--`, or --speculative-config"
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
    live = _LIVE.fullmatch(given[0]) if len(given) == 1 and file is None else None
    if live and config is not None:
        raise stop(_ALL_ITSELF)
    if live:
        done(_from_cluster(live["name"], options, namespace, context, kubeconfig))
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
    if given and not command.program and not any(each.startswith("-") for each in command.words):
        raise stop(f"{' '.join(given)!r} is not a file, isvc/NAME, or a vLLM command line: {_NOTHING}")
    parts = from_words(command)
    parts.namespace = namespace
    return options.service(parts, config)


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
            return Imported(why_not=(why_not,), lost=tuple(parts.lost))
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
    try:
        found = [each.data for each in documents(text_of(file))]
    except Unreadable as error:
        raise stop(f"{file}:{error.line}: {error}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise stop(f"{file}: {error}") from error
    services = [each for body in found for each in _services(body)]
    if not services:
        kinds = sorted({str(each.get("kind")) for each in found if isinstance(each, dict)})
        raise stop(
            f"{file} has no InferenceService of {names.KSERVE_GROUP}" + (f", but {', '.join(kinds)}" * bool(kinds))
        )
    for other in (each for body in found for each in _others(body)):
        typer.echo(f"ignored: {other}: it is not an InferenceService", err=True)
    return [_one(each, options, namespace) for each in services]


def _services(body: Any) -> Iterator[dict[str, Any]]:
    """The InferenceServices of a document, which may be a list of objects."""
    if not isinstance(body, dict):
        return
    if body.get("kind") == "InferenceService":
        yield body
    elif str(body.get("kind", "")).endswith("List"):
        for each in body.get("items") or ():
            yield from _services(each)


def _others(body: Any) -> Iterator[str]:
    """What else a document holds, by kind and name."""
    if not isinstance(body, dict) or body.get("kind") == "InferenceService":
        return
    if str(body.get("kind", "")).endswith("List"):
        for each in body.get("items") or ():
            yield from _others(each)
    elif body:
        meta = body.get("metadata")
        name = meta.get("name", "") if isinstance(meta, dict) else ""
        yield f"{body.get('kind', 'a document without a kind')} {name}".rstrip()


def _one(body: dict[str, Any], options: _Options, namespace: str | None) -> tuple[str, Imported]:
    parts = read(body)
    parts.namespace = parts.namespace or namespace
    place = f"{parts.namespace}/{parts.name}" if parts.namespace else str(parts.name)
    return f"InferenceService {place}", options.service(parts)


async def _from_cluster(
    name: str, options: _Options, namespace: str | None, context: str | None, kubeconfig: str | None
) -> int:
    from specdec_operator.kube.client import ApiError, KubeClient  # noqa: PLC0415 - kubernetes takes long to import

    async with await KubeClient.as_user(kubeconfig, context) as cluster:
        place = namespace or cluster.namespace
        try:
            body = await cluster.get(names.inference_services_path(place, name))
        except ApiError as error:
            raise _in_words(cluster, error, place, name) from error
    return _show([_one(body, options, place)])


def _in_words(cluster: "KubeClient", error: Any, namespace: str, name: str) -> Unavailable:
    if error.status == 404:
        see = f"`kubectl get inferenceservices -n {namespace}` lists them"
        return Unavailable("NoSuchService", f"namespace {namespace} has no InferenceService {name}: {see}")
    return Unavailable("ApiError", f"{cluster.server}: HTTP {error.status}: {error.answer}")


def _show(every: list[tuple[str, Imported]]) -> int:
    """Prints services and the findings on them. Returns the exit code: the worst of all."""
    code, first = 0, True
    for origin, made in every:
        for each in made.findings:
            typer.echo(f"# {each.rule.severity}: {each.message} (rule {each.rule.id})", err=True)
        if made.body is None:
            for why in made.why_not:
                typer.echo(f"not imported: {origin}: {why}", err=True)
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
