"""Takes out of a service what the API server would refuse, and lists it as lost."""

import re
from collections.abc import Mapping
from typing import Any, Final

import yaml

from specdec_command.importing.manifest import Lost
from specdec_command.validation.check import DocumentProblem, check_document
from specdec_command.validation.documents import documents
from specdec_engine.rule import Severity

Body = dict[str, Any]
_CARRIED: Final = (
    *("spec.pod.", "spec.inferenceService.", "spec.engine.env", "spec.engine.securityContext", "spec.resources"),
    *("spec.rollout.", "spec.engine.livenessProbe", "spec.model.adapters", "spec.model.aliases"),
)
"""Places that may go without the service meaning something else. What lies elsewhere refuses it as a whole."""
_STEP: Final = re.compile(r"\.?([^.\[\]]+)|\[([^\]]+)\]")
_ENTRY: Final = re.compile(r"(?P<list>spec\.(?:pod\.volumes|pod\.volumeMounts|engine\.env|model\.adapters))\[\d+\]")
_MOST: Final = 100


def trimmed(body: Body, sources: Mapping[str, str]) -> tuple[Body, tuple[Lost, ...], tuple[str, ...]]:
    """The service without what would be refused, what that was, and why there is none where nothing more may go.

    sources: place in the spec -> where it stood in what was imported.
    """
    lost: list[Lost] = []
    for _ in range(_MOST):
        refused = [each for each in _problems(body) if each.severity is Severity.REFUSED]
        if not refused:
            return body, tuple(lost), ()
        where = next((each for each in refused if each.path.startswith(_CARRIED)), None)
        path, told = ("", None) if where is None else _what(body, where, sources)
        if told is None or not _remove(body, path):
            return body, tuple(lost), tuple(f"{each.path}: {each.message}" for each in refused)
        lost.append(told)
    return body, tuple(lost), ("spec: more than a hundred of its fields would be rejected",)


def _problems(body: Body) -> tuple[DocumentProblem, ...]:
    return check_document(next(documents(yaml.safe_dump(body))))


def _what(body: Body, problem: DocumentProblem, sources: Mapping[str, str]) -> tuple[str, Lost]:
    """The path to remove for a problem, and its entry as lost. Of volumes and variables a whole one is removed."""
    path, name = problem.path, ""
    if entry := _ENTRY.match(path):
        path = entry[0]
        found = body["spec"]
        for step in path.replace("]", "").replace("[", ".").split(".")[1:]:
            found = _child(found, int(step) if step.isdecimal() else step)
        name = f" ({found['name']})" if isinstance(found, dict) and "name" in found else ""
        path_told = _source(entry["list"], sources) + name
    else:
        path_told = _source(path, sources)
    part = problem.path.rpartition(".")[2]
    why = problem.message if "[" in part else f"{part} {problem.message}"
    return path, Lost(field=path_told, why=why, way_out="change it in the service, or remove it")


def _source(path: str, sources: Mapping[str, str]) -> str:
    """Where it stood; the rest of the path is the same on both sides."""
    known = max((each for each in sources if path.startswith(each)), key=len, default=None)
    return path if known is None else sources[known] + path[len(known) :]


def _remove(body: Body, path: str) -> bool:
    """Takes out what a path names, or the nearest part above it that is there, and what is empty then."""
    steps: list[str | int] = []
    for name, bracket in _STEP.findall(path):
        steps.append(int(bracket) if bracket.isdecimal() else name or bracket)
    holders: list[Any] = [body]
    for step in steps[:-1]:
        holders.append(_child(holders[-1], step))
    for holder, step in reversed(list(zip(holders, steps, strict=True))):
        if _child(holder, step) is not None:
            del holder[step]
            _prune(body)
            return len(steps) > len(("spec",))
    return False


def _child(holder: Any, step: str | int) -> Any:
    if isinstance(holder, dict):
        return holder.get(str(step))
    if isinstance(holder, list) and isinstance(step, int) and step < len(holder):
        return holder[step]
    return None


def _prune(body: Body) -> None:
    """Empties that taking out leaves behind."""
    spec = body["spec"]
    for name in ("pod", "inferenceService", "rollout", "engine", "model"):
        part = spec.get(name)
        if isinstance(part, dict):
            spec[name] = {key: value for key, value in part.items() if value not in ({}, [])}
    for name in [key for key, value in spec.items() if value in ({}, [])]:
        del spec[name]
