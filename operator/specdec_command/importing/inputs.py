"""The objects of a file: those that run an engine, with their runtimes, and what to do with the others."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from specdec_command.importing import serving_runtimes
from specdec_command.importing.source import Source, guard_command, named
from specdec_command.importing.workloads import DEPLOYMENT, of_deployment, runs_vllm

_LLM: Final = "LLMInferenceService"
_FLAGS: Final = "import its command line: `specdec import -- vllm serve MODEL FLAGS`"
_RENDER: Final = "render it first, for example `helm template CHART -f values.yaml | specdec import -`"
_WAYS: Final = MappingProxyType(
    {
        "Kustomization": "build it first: `kubectl kustomize FOLDER | specdec import -`",
        "HelmRelease": _RENDER,
        "HelmChart": _RENDER,
        "Application": "import the manifests that it applies",
        "ApplicationSet": "import the manifests that it applies",
        "LeaderWorkerSet": "its engine runs over several pods, and a service has one pod for each replica",
        **dict.fromkeys(("StatefulSet", "DaemonSet", "ReplicaSet", "Pod", "Job", "RayService", "RayCluster"), _FLAGS),
        **dict.fromkeys(serving_runtimes.KINDS, "add the InferenceService that uses it, or import isvc/NAME"),
    }
)
"""What to do with objects of other kinds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """sources: objects to import. ignored: the others, each with what to do, which is empty if there is nothing."""

    sources: tuple[Source, ...]
    ignored: tuple[tuple[str, str], ...]


def inputs_of(bodies: Iterable[Any], namespace: str | None = None) -> Inputs:
    """The objects among these documents. namespace: of those that name none."""
    every = [_placed(each, namespace) for body in bodies for each in _objects(body)]
    runtimes = [each for each in every if each.get("kind") in serving_runtimes.KINDS]
    sources, ignored, used = [], [], []
    for body in every:
        if body.get("kind") == "InferenceService":
            source, runtime = _service(body, runtimes)
            sources.append(source)
            used.append(runtime)
        elif body.get("kind") == DEPLOYMENT and runs_vllm(body):
            sources.append(of_deployment(body))
        elif body not in runtimes:
            ignored.append((_called(body), way_out(body)))
    ignored += [(_called(each), way_out(each)) for each in runtimes if each not in used]
    if not sources:  # the file was meant for these
        sources = [_llm(body) for body in every if body.get("kind") == _LLM]
        ignored = [each for each in ignored if not each[0].startswith(_LLM)]
    return Inputs(sources=tuple(sources), ignored=tuple(ignored))


def _service(body: Mapping[str, Any], runtimes: list[dict[str, Any]]) -> tuple[Source, Mapping[str, Any] | None]:
    """An InferenceService with its runtime, if that is among these."""
    service, written = serving_runtimes.with_model(body)
    runtime = serving_runtimes.runtime_of(service, runtimes) if serving_runtimes.has_model(service) else None
    source = serving_runtimes.alone(service) if runtime is None else serving_runtimes.merged(service, runtime)
    return replace(source, written={**written, **source.written}), runtime


def _objects(body: Any) -> Iterator[dict[str, Any]]:
    """The objects of a document, which may be a list of objects."""
    if not isinstance(body, dict):
        return
    if str(body.get("kind", "")).endswith("List"):
        for each in body.get("items") or ():
            yield from _objects(each)
    elif body:
        yield body


def _placed(body: dict[str, Any], namespace: str | None) -> dict[str, Any]:
    meta = body.get("metadata")
    if namespace is None or named(body)[1] or body.get("kind") == serving_runtimes.KINDS[1]:
        return body
    return {**body, "metadata": {**(meta if isinstance(meta, dict) else {}), "namespace": namespace}}


def _called(body: Mapping[str, Any]) -> str:
    """An object by kind and name."""
    if body.get("kind"):
        return f"{body['kind']} {named(body)[0]}".rstrip()
    return "a docker compose file" if isinstance(body.get("services"), dict) else "a document without a kind"


def way_out(body: Mapping[str, Any]) -> str:
    """What to do with an object that is not imported; empty: nothing."""
    kind = body.get("kind")
    if kind == _LLM:
        return _of_llm(body)
    if kind == DEPLOYMENT:
        return "no container of it names vLLM: if one runs it, " + _FLAGS
    if kind is None and isinstance(body.get("services"), dict):
        return "it has no objects of Kubernetes: " + _FLAGS
    if kind is None:
        return f"it could be the values of a Helm chart: {_RENDER}"
    return _WAYS.get(str(kind), "")


def _of_llm(body: Mapping[str, Any]) -> str:
    """KServe's llmisvc controller names the Deployment NAME-kserve."""
    spec = body.get("spec")
    if isinstance(spec, Mapping) and spec.get("worker"):
        return "its engine runs over several pods, and a service has one pod for each replica"
    return f"guard its Deployment: `{guard_command(body, 'deploy', '-kserve')}`"


def _llm(body: Mapping[str, Any]) -> Source:
    why = f"an LLMInferenceService has its own router and pods, which a service does not have; {_of_llm(body)}"
    return Source(body=body, kind=_LLM, why_not=(why,))
