"""What `specdec import KIND/NAME` reads from the cluster: an object that runs an engine, and its ServingRuntime."""

import re
from typing import TYPE_CHECKING, Any, Final

import typer

from specdec_command.cli.connect import ClusterChoice
from specdec_command.importing.serving_runtimes import KINDS, has_model, runtime_named
from specdec_operator import names
from specdec_operator.errors import Unavailable

if TYPE_CHECKING:
    from specdec_operator.kube.client import ApiError, KubeClient

Body = dict[str, Any]
_KSERVE: Final = f"/apis/{names.KSERVE_GROUP}"
_LIVE: Final = re.compile(r"(?P<kind>[A-Za-z]+)(?:\.[a-z.]+)?/(?P<name>[a-z0-9]([-.a-z0-9]*[a-z0-9])?)")
_KINDS: Final = (
    (("isvc", "inferenceservice"), "InferenceService", f"{_KSERVE}/{names.KSERVE_VERSION}", "inferenceservices"),
    (("deploy", "deployment"), "Deployment", "/apis/apps/v1", "deployments"),
    (("llmisvc", "llminferenceservice"), "LLMInferenceService", f"{_KSERVE}/v1alpha2", "llminferenceservices"),
)
"""Names on the command line, kind, and where the API server has it."""
_RUNTIMES: Final = ("servingruntimes", "clusterservingruntimes")


def live(word: str) -> tuple[str, str] | None:
    """Kind and name of an object in the cluster that a word names; None if it names none."""
    found = _LIVE.fullmatch(word)
    if found is None:
        return None
    short = found["kind"].lower()
    return next(((kind, found["name"]) for known, kind, *_ in _KINDS if short.removesuffix("s") in known), None)


async def bodies_of(kind: str, name: str, where: ClusterChoice) -> list[Body]:
    """The object and the runtimes that could run it. Raises Unavailable if the object cannot be read."""
    from specdec_operator.kube.client import ApiError, KubeClient  # noqa: PLC0415 - kubernetes takes long to import

    _, _, group, plural = next(each for each in _KINDS if each[1] == kind)
    async with await KubeClient.as_user(where.kubeconfig, where.context) as cluster:
        place = where.namespace or cluster.namespace
        try:
            body = await cluster.get(f"{group}/namespaces/{place}/{plural}/{name}")
        except ApiError as error:
            raise _in_words(cluster, error, f"namespace {place} has no {kind} {name}", plural, place) from error
        body = {"kind": kind, **body}
        return [body, *(await _runtimes(cluster, body, place) if has_model(body) else ())]


async def _runtimes(cluster: "KubeClient", service: Body, namespace: str) -> list[Body]:
    """The runtime that the service names, or all between which KServe chooses. What cannot be read is reported."""
    from specdec_operator.kube.client import ApiError  # noqa: PLC0415 - kubernetes takes long to import

    found: list[Body] = []
    name = runtime_named(service)
    for kind, plural in zip(KINDS, _RUNTIMES, strict=True):
        place = f"/namespaces/{namespace}" if kind == KINDS[0] else ""
        path = f"{_KSERVE}/v1alpha1{place}/{plural}" + (f"/{name}" if name else "")
        try:
            answer = await cluster.find(path)
        except ApiError as error:
            typer.echo(f"not read: {kind} {name}".rstrip() + f": HTTP {error.status}: {error.answer}", err=True)
            continue
        every = [] if answer is None else [answer] if name else answer.get("items") or []
        found += [{**each, "kind": kind} for each in every]
    return found


def _in_words(cluster: "KubeClient", error: "ApiError", missing: str, plural: str, namespace: str) -> Unavailable:
    if error.status == 404:
        return Unavailable("NoSuchService", f"{missing}: `kubectl get {plural} -n {namespace}` lists them")
    return Unavailable("ApiError", f"{cluster.server}: HTTP {error.status}: {error.answer}")
