"""`specdec recommend TARGET`: which method fits a service, what to expect of it, and the manifest that asks for it."""

import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Group
from rich.table import Table
from rich.text import Text

from specdec_command.advice.candidates import Candidate
from specdec_command.advice.catalogue import Workload
from specdec_command.advice.families import FAMILIES, TargetFamily, family_named, family_of
from specdec_command.advice.recommend import Recommendation, plain
from specdec_command.advice.recommend import recommend as answer
from specdec_command.advice.request import AdviceRequest, AvailableDraft, DraftType, Use, kind_of
from specdec_command.cli.explain import Form
from specdec_command.cli.input import as_json, as_yaml, model_of, say, stop
from specdec_command.validation.check import completed
from specdec_engine.accelerators import Accelerator
from specdec_engine.case import Json
from specdec_engine.version import PACKAGES
from specdec_operator.errors import Invalid
from specdec_operator.staging.layout import lay_out

_WIDTH: Final = 108


def refused(service: Mapping[str, Any]) -> str:
    """Why the API server would refuse it, or nothing could be mounted; empty: neither. The engine was asked."""
    whole, wrong = completed(plain(service))
    if wrong:
        return "; ".join(f"{each.path}: {each.value!r}: {each.message}" for each in wrong)
    try:
        lay_out(whole["spec"], name=whole["metadata"]["name"])
    except Invalid as error:
        return error.message
    return ""


def show(recommendation: Recommendation, form: Form) -> None:
    """Print it, all of it to standard output."""
    match form:
        case Form.JSON:
            typer.echo(as_json(plain(recommendation)))
        case Form.YAML:
            comments = (
                f"# {line}" for sentence in sentences(recommendation) for line in textwrap.wrap(sentence, _WIDTH)
            )
            typer.echo("\n".join([*comments, manifest(recommendation)]), nl=False)
        case Form.TEXT:
            _text(recommendation)


def manifest(recommendation: Recommendation) -> str:
    """The service as YAML."""
    return as_yaml(plain(recommendation.sis))


def sentences(recommendation: Recommendation) -> Iterator[str]:
    """The answer and its reasons, a sentence each."""
    yield recommendation.headline
    for each in recommendation.objections:
        yield f"Because {each.says} [{each.source}]."
    if recommendation.choice is not None:
        yield from _of_choice(recommendation.choice)
    yield from recommendation.steps


def _of_choice(choice: Candidate) -> Iterator[str]:
    for each in choice.reasons:
        yield f"{choice.method}: {each.says.rstrip('.')} [{each.source}]."
    for each in choice.warnings:
        yield f"Note: {each.says} [{each.source}]."
    if choice.price:
        yield f"Memory: {choice.price}."


def _text(recommendation: Recommendation) -> None:
    headline, *others = sentences(recommendation)
    table = Table(
        "method", "standing", "K", "expected", "why", title=f"on {recommendation.engine}", title_justify="left"
    )
    for each in recommendation.candidates:
        why = each.reasons[0].says if each.reasons else ""
        table.add_row(each.method, each.standing.value, str(each.tokens or ""), str(each.speedup), Text(why))
    say(Group(Text(headline, style="bold"), *(Text(f"- {each}") for each in others), table))
    typer.echo(f"---\n{manifest(recommendation)}", nl=False)


Target = Annotated[
    str,
    typer.Argument(
        help="The target's config.json or its folder, a model such as hf://Qwen/Qwen3-8B, or a family such as llama-3."
    ),
]
Work = Annotated[Workload, typer.Option(help="The kind of requests.")]
Busy = Annotated[int, typer.Option(min=1, help="Concurrent requests per pod at busy times.")]
On = Annotated[Accelerator, typer.Option(help="The hardware of the engine.")]
Version = Annotated[str | None, typer.Option(help="Engine version in your image. Default: this release's image.")]
Devices = Annotated[int, typer.Option("--tensor-parallel", min=1, max=4096, help="Devices per engine.")]
ModelUri = Annotated[str | None, typer.Option(help="Location of the target: a URI as in spec.model.uri.")]
DraftUri = Annotated[
    str | None, typer.Option("--draft", help="Location of a draft that you have: a URI as in spec.model.uri.")
]
DraftKind = Annotated[DraftType | None, typer.Option(help="Kind of the draft. Default: from its config.json.")]
DraftConfig = Annotated[str | None, typer.Option(help="The draft's config.json or its folder.")]
Prompt = Annotated[int | None, typer.Option(min=1, help="Tokens of a typical prompt.")]
Answer = Annotated[int | None, typer.Option(min=1, help="Tokens of a typical answer.")]
Warmth = Annotated[float, typer.Option(min=0, max=10, help="Usual temperature of the requests.")]
Uses = Annotated[
    list[Use] | None, typer.Option("--uses", help="Features that requests use. Repeat the option for several.")
]
Packages = Annotated[
    list[str] | None, typer.Option("--package", help="An additional Python package in the image: arctic-inference.")
]
Image = Annotated[str | None, typer.Option(help="Image of the engine. Default: that of this release.")]
Name = Annotated[str | None, typer.Option(help="Name of the service. Default: derived from TARGET.")]
Shown = Annotated[
    Form, typer.Option("--format", help="yaml: the manifest, for `kubectl apply -f -`; json: the complete result.")
]


def recommend(  # noqa: PLR0913 - one parameter is one option of the command line
    target: Target,
    *,
    workload: Work = Workload.CHAT,
    concurrency: Busy = 4,
    accelerator: On = Accelerator.NVIDIA,
    engine_version: Version = None,
    devices: Devices = 1,
    model_uri: ModelUri = None,
    draft: DraftUri = None,
    draft_kind: DraftKind = None,
    draft_config: DraftConfig = None,
    prompt_tokens: Prompt = None,
    answer_tokens: Answer = None,
    temperature: Warmth = 0.0,
    uses: Uses = None,
    image: Image = None,
    packages: Packages = None,
    name: Name = None,
    form: Shown = Form.TEXT,
) -> None:
    """Recommend a method and its K for a service, with reasons, and the manifest that asks for it."""
    request = _request(target, name, model_uri)
    request = replace(request, accelerator=accelerator.value, version=engine_version, image=image)
    request = replace(request, tensor_parallel=devices, workload=workload, concurrency=concurrency)
    request = replace(request, prompt_tokens=prompt_tokens, answer_tokens=answer_tokens, temperature=temperature)
    present = frozenset(each.replace("-", "_") for each in packages or ())
    if image is None:  # the release's own
        present |= PACKAGES[accelerator.value]
    own = _draft(draft, draft_kind, draft_config)
    _answer(replace(request, uses=frozenset(uses or ()), packages=present, draft=own), form)


def _answer(request: AdviceRequest, form: Form) -> None:
    try:
        recommendation = answer(request)
    except Invalid as error:
        raise stop(error.message) from error
    if trouble := refused(recommendation.sis):
        raise stop(trouble)
    show(recommendation, form)


def _request(target: str, name: str | None, uri: str | None) -> AdviceRequest:
    place = _place(target)
    named = _repository(target) if place is None else ""
    config, family = _target(named or target, place)
    given = target if "://" in target and place is None else None
    known = AdviceRequest(name=name or _slug(named or target, place), config=config, family=family)
    return replace(known, uri=uri or given, repository=named)


def _repository(target: str) -> str:
    """The repository of a hub that a word or a URI names, without a revision; empty for one that names none."""
    scheme, there, rest = target.rpartition("://")
    if there and scheme != "hf":
        return ""
    name = rest.partition(":")[0].strip("/")
    return name if there or name.count("/") == 1 else ""


def _place(word: str) -> Path | None:
    """The file or folder that a word names, if it names one."""
    try:
        path = Path(word).resolve()
        return path if path.exists() else None
    except (OSError, ValueError):  # too long for a path, or with a NUL
        return None


def _target(word: str, place: Path | None) -> tuple[Json | None, TargetFamily | None]:
    """The target's config, or the family that the word names. Exits with 2 if it is neither."""
    if place is not None and (model := model_of(str(place))):
        return model.config, family_of(model.config or {})
    if family := family_named(word):
        return None, family
    families = ", ".join(each.name for each in FAMILIES)
    raise stop(f"{word!r} is not a file or a known family; pass the target's config.json, or one of {families}")


def _draft(uri: str | None, kind: DraftType | None, place: str | None) -> AvailableDraft | None:
    model = model_of(place)
    if uri is None:
        if kind is not None or model is not None:
            raise stop("--draft is the location of the draft; --draft-kind and --draft-config describe it")
        return None
    config = model.config if model else None
    if kind is None and config is None:
        raise stop("--draft needs --draft-kind or --draft-config")
    return AvailableDraft(uri=uri, kind=kind or kind_of(config or {}), config=config)


def _slug(word: str, place: Path | None) -> str:
    """A name for Kubernetes out of a path or a family: at most 53 of a-z, 0-9 and -, beginning with a letter."""
    if place is not None:
        word = (place.parent if place.is_file() else place).name
    joined = re.sub(r"[^a-z0-9]+", "-", word.rsplit("/", 1)[-1].lower()).lstrip("-0123456789")
    return joined[:53].strip("-") or "model"
