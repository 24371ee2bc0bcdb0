"""One document -> all that is to be said about it: what the API server would refuse, then what KServe could not
bring, then what the engine would.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from specdec_operator import names
from specdec_operator.cli import structure
from specdec_operator.cli.documents import Document
from specdec_operator.engine.asked import ask, path_of
from specdec_operator.engine.check import check
from specdec_operator.engine.rule import Finding, Severity
from specdec_operator.errors import Invalid
from specdec_operator.staging.kserve import KServe
from specdec_operator.staging.layout import DRAFT_PATH, lay_out

SCHEMA: Final = f"{__file__.rpartition('/cli/')[0]}/api/schema.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """One thing to be said about a document, ready to be shown.

    rule: the id of the rule; since: the engine version it begins with, where that is known.
    """

    severity: Severity
    line: int
    path: str
    value: object
    message: str
    rule: str
    since: str = ""


@cache
def schema() -> structure.Schema:
    """The CRD's schema of the whole object, as it was generated with this release."""
    with open(SCHEMA, encoding="utf-8") as file:
        found: structure.Schema = json.load(file)
    return found


def is_sis(document: Document) -> bool:
    """Whether the document is one of ours; every other kind is somebody else's."""
    data = document.data
    return isinstance(data, dict) and data.get("kind") == names.KIND


def judge(document: Document, kserve: KServe | None = None) -> tuple[Remark, ...]:
    """What is to be said about a sis. The engine is asked only for what the API server would take.

    kserve: the KServe that is to serve it; without one nothing is said about its versions.
    """
    refused = tuple(_of_api(document))
    return refused or tuple(_of_rules(document, kserve))


def _of_api(document: Document) -> Iterator[Remark]:
    version = document.data.get("apiVersion")
    if version != names.API_VERSION:
        yield _refused(document, "apiVersion", version, f"must be {names.API_VERSION}", "SCHEMA-ENUM")
        return
    whole = structure.filled(document.data, schema())
    for problem in structure.problems(whole, schema(), ""):
        yield _refused(document, problem.path, problem.value, problem.message, problem.kind)


def _of_rules(document: Document, kserve: KServe | None) -> Iterator[Remark]:
    spec = structure.filled(document.data, schema())["spec"]
    name = str((document.data.get("metadata") or {}).get("name", ""))
    try:
        staged = lay_out(spec, name=name, kserve=kserve).findings
        findings = (*staged, *findings_of(spec, synthetic=allows_synthetic(document.data)))
    except Invalid as error:
        yield _refused(document, error.field, error.value, error.rule, "SPEC-INVALID")
        return
    for each in findings:
        path = path_of(each.field)
        yield Remark(
            severity=each.rule.severity,
            line=document.line_of(path),
            path=path,
            value=each.value,
            message=each.message,
            rule=each.rule.id,
            since=each.rule.since,
        )


def allows_synthetic(body: dict[str, Any]) -> bool:
    """Whether an annotation lets the engine pretend an acceptance."""
    annotations = (body.get("metadata") or {}).get("annotations") or {}
    return isinstance(annotations, dict) and annotations.get(names.SYNTHETIC_ANNOTATION) == "true"


def findings_of(spec: dict[str, Any], *, synthetic: bool) -> tuple[Finding, ...]:
    """What the engine's rules find in a spec that the API server took. Raises Invalid for what cannot be said."""
    asked = ask(spec, draft_path=DRAFT_PATH, synthetic=synthetic)
    if _plans_memory(spec):
        from specdec_operator.engine.budget import budget  # noqa: PLC0415 - most specs plan no memory: a tenth of the time

        budget(spec, asked)
    return (*asked.findings, *check(asked.case))


def _plans_memory(spec: dict[str, Any]) -> bool:
    memory, draft = spec.get("memory") or {}, (spec.get("speculation") or {}).get("draft") or {}
    return "device" in memory or "size" in draft or memory.get("draftReserve", "Auto") != "Auto"


def _refused(document: Document, path: str, value: object, message: str, rule: str) -> Remark:
    line = document.line_of(path)
    return Remark(severity=Severity.REFUSED, line=line, path=path, value=value, message=message, rule=rule)
