"""`specdec guard isvc/NAME`: the lines that guard an existing InferenceService."""

from types import MappingProxyType
from typing import Annotated, Any, Final

import typer
import yaml

from specdec_command.cli.connect import Namespace, checked
from specdec_command.validation.check import completed
from specdec_operator import names

_FIELDS: Final = MappingProxyType({"inferenceservice": "inferenceServiceRef", "deployment": "deploymentRef"})
_SHORT: Final = MappingProxyType({"isvc": "inferenceservice", "deploy": "deployment"})
_LLM: Final = ("llmisvc", "llminferenceservice")
_KINDS: Final = "isvc/NAME for an InferenceService, or deploy/NAME for a Deployment whose pods run vLLM"

What = Annotated[str, typer.Argument(metavar="KIND/NAME", help=f"{_KINDS}.")]
Called = Annotated[
    str | None,
    typer.Option("--name", help="Name of the guard. Default: the name of the guarded object.", callback=checked),
]


def guard(what: What, namespace: Namespace = None, name: Called = None) -> None:
    """Print the lines that guard an existing service. They are for `kubectl apply -f -`; the service is not changed."""
    typer.echo(yaml.safe_dump(guarding(what, namespace, name), sort_keys=False), nl=False)


def guarding(what: str, namespace: str | None = None, name: str | None = None) -> dict[str, Any]:
    """The service that guards it. Raises BadParameter for what cannot be guarded."""
    kind, _, guest = what.partition("/")
    word = kind.lower().partition(".")[0]  # kubectl also takes inferenceservice.serving.kserve.io
    field = _FIELDS.get(_SHORT.get(word, word.removesuffix("s")))
    if word.removesuffix("s") in _LLM and guest:
        message = f"KServe serves {what} with the Deployment {guest}-kserve: write deploy/{guest}-kserve"
        raise typer.BadParameter(message, param_hint="KIND/NAME")
    if field is None or not guest:
        raise typer.BadParameter(f"{what!r} is not isvc/NAME or deploy/NAME: write {_KINDS}", param_hint="KIND/NAME")
    place = {"namespace": namespace} if namespace else {}
    body = {
        "apiVersion": names.API_VERSION,
        "kind": names.KIND,
        "metadata": {"name": name or guest, **place},
        "spec": {field: {"name": guest}, "guard": {"mode": "Observe"}},
    }
    for problem in completed(body)[1]:
        named = problem.path.startswith("metadata") or not problem.path
        way_out = "; give the guard another name with --name" if named else ""
        raise typer.BadParameter(f"{problem.message}{way_out}", param_hint="KIND/NAME")
    return body
