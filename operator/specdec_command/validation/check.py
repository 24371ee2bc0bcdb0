"""One document -> its problems: what the API server would refuse, then what KServe could not bring, then the engine."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from specdec_command.validation import schema
from specdec_command.validation.documents import Document
from specdec_engine.check import check
from specdec_engine.rule import Finding, Severity
from specdec_operator import names
from specdec_operator.api.taken import refuse_taken
from specdec_operator.engine.image import choose_engine
from specdec_operator.engine.instrument import Instrument, Instrumented, instrumented
from specdec_operator.engine.instrument import findings as of_instrument
from specdec_operator.engine.translate import path_of, translate
from specdec_operator.errors import Invalid
from specdec_operator.staging.kserve import KServe
from specdec_operator.staging.layout import DRAFT_PATH, RUNTIME_PATH, lay_out

SCHEMA: Final = f"{__file__.rpartition('/specdec_command/')[0]}/specdec_operator/api/schema.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentProblem:
    """One problem of a document, ready to be shown.

    rule: the id of the rule; since: the engine version it begins with, if known.
    """

    severity: Severity
    line: int
    path: str
    value: object
    message: str
    rule: str
    since: str = ""


@cache
def crd_schema() -> schema.Schema:
    """The CRD's schema of the whole object, as it was generated with this release."""
    with open(SCHEMA, encoding="utf-8") as file:
        parsed: schema.Schema = json.load(file)
    return parsed


def completed(body: Any) -> tuple[Any, tuple[schema.SchemaProblem, ...]]:
    """A whole object as the API server keeps it, with every default, and what it would refuse of it."""
    whole = schema.filled(body, crd_schema())
    return whole, tuple(schema.problems(whole, crd_schema(), ""))


def is_service(document: Document) -> bool:
    """Whether the document is a SpeculativeInferenceService."""
    data = document.data
    return isinstance(data, dict) and data.get("kind") == names.KIND


def check_document(document: Document, kserve: KServe | None = None) -> tuple[DocumentProblem, ...]:
    """The problems of a service. The engine's rules are asked only for what the API server would take.

    kserve: the KServe that is to serve it; without one its versions are not checked.
    """
    version = document.data.get("apiVersion")
    if version != names.API_VERSION:
        return (_refused(document, "apiVersion", version, f"must be {names.API_VERSION}", "SCHEMA-ENUM"),)
    whole, wrong = completed(document.data)
    refused = tuple(_refused(document, each.path, each.value, each.message, each.kind) for each in wrong)
    if not refused and "model" not in whole["spec"]:
        return ()  # a guarded InferenceService itself defines how it is served
    return refused or tuple(_of_rules(document, whole["spec"], kserve))


def _of_rules(document: Document, spec: dict[str, Any], kserve: KServe | None) -> Iterator[DocumentProblem]:
    name = str((document.data.get("metadata") or {}).get("name", ""))
    try:
        of_image, instrument = _of_image(spec, kserve or KServe())
        beside = [RUNTIME_PATH] if instrument.how is Instrument.INJECT else []
        layout = lay_out(spec, name=name, kserve=kserve, beside=beside)
        refuse_taken(spec, name=name, layout=layout)
        draft_path, synthetic = layout.draft or DRAFT_PATH, allows_synthetic(document.data)
        findings = (*layout.findings, *of_image, *findings_of(spec, draft_path=draft_path, synthetic=synthetic))
    except Invalid as error:
        yield _refused(document, error.field, error.value, error.rule, "SPEC-INVALID")
        return
    yield from (problem_of(document, each) for each in findings)


def problem_of(document: Document, finding: Finding) -> DocumentProblem:
    """A finding at its place in the document."""
    path = path_of(finding.field)
    return DocumentProblem(
        severity=finding.rule.severity,
        line=document.line_of(path),
        path=path,
        value=finding.value,
        message=finding.message,
        rule=finding.rule.id,
        since=finding.rule.since,
    )


def _of_image(spec: dict[str, Any], kserve: KServe) -> tuple[tuple[Finding, ...], Instrumented]:
    """The findings on an image or a runtime that is not this project's, and on the version of the engine inside."""
    engine = spec.get("engine") or {}
    chosen = choose_engine(engine, runtime_image=kserve.image(engine.get("accelerator", "nvidia")))
    engine = engine | ({"image": chosen.image} if chosen.image else {})
    found = instrumented(engine, runtimes=kserve.names, operator_image=kserve.operator_image)
    return (*chosen.findings, *of_instrument(engine, found)), found


def allows_synthetic(body: dict[str, Any]) -> bool:
    """Whether an annotation lets the engine pretend an acceptance."""
    annotations = (body.get("metadata") or {}).get("annotations") or {}
    return isinstance(annotations, dict) and annotations.get(names.SYNTHETIC_ANNOTATION) == "true"


def findings_of(spec: dict[str, Any], *, draft_path: str, synthetic: bool) -> tuple[Finding, ...]:
    """What the engine's rules find in a spec that the API server took. Raises Invalid for what cannot be translated."""
    request = translate(spec, draft_path=draft_path, synthetic=synthetic)
    memory: tuple[Finding, ...] = ()
    if _plans_memory(spec):
        from specdec_operator.engine import budget  # noqa: PLC0415 - most specs plan no memory: a tenth of the time

        memory = tuple(budget.lowered_twice(spec, request, budget.budget(spec, request)))
    return (*request.findings, *check(request.case), *memory)


def _plans_memory(spec: dict[str, Any]) -> bool:
    memory, draft = spec.get("memory") or {}, (spec.get("speculation") or {}).get("draft") or {}
    share = (spec.get("engine") or {}).get("gpuMemoryUtilization")
    return bool(
        "device" in memory or "size" in draft or share is not None or memory.get("draftReserve", "Auto") != "Auto"
    )


def _refused(document: Document, path: str, value: object, message: str, rule: str) -> DocumentProblem:
    line = document.line_of(path)
    return DocumentProblem(severity=Severity.REFUSED, line=line, path=path, value=value, message=message, rule=rule)
