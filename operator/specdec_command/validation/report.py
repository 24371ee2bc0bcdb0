"""How problems are shown: text for people, JSON for programs, SARIF for code review tools."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any, Final

from specdec_command.validation.check import DocumentProblem
from specdec_engine.rule import Severity
from specdec_operator import __version__

_SHOWN: Final = 80
_LEVELS: Final = MappingProxyType({Severity.REFUSED: "error", Severity.WARNED: "warning", Severity.NOTED: "note"})
_SARIF: Final = "https://json.schemastore.org/sarif-2.1.0.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReport:
    """The problems of one file. services: how many are in it; others: objects of other kinds, which are not judged."""

    file: str
    problems: tuple[DocumentProblem, ...] = ()
    services: int = 0
    others: int = 0
    unreadable: str = ""


def text(reports: Sequence[FileReport]) -> str:
    """One line for each problem, and one that sums up."""
    out = []
    for report in reports:
        out += [_line(report.file, each) for each in report.problems]
        if report.unreadable:
            out.append(f"{report.file}:{report.unreadable} (unreadable)")
    return "\n".join([*out, _summary(reports)]) + "\n"


def _line(file: str, problem: DocumentProblem) -> str:
    since = f", since v{problem.since}" if problem.since else ""
    return f"{file}:{problem.line} {_sentence(problem)} ({problem.severity}; rule {problem.rule}{since})"


def _sentence(problem: DocumentProblem) -> str:
    value = "" if problem.value is None else f": {_value(problem.value)}"
    return f"{problem.path}{value} — {problem.message}"


def _value(value: object) -> str:
    if isinstance(value, dict | list):
        return "{…}" if isinstance(value, dict) else "[…]"
    written = json.dumps(value, ensure_ascii=False, default=str)
    return written if len(written) <= _SHOWN else f"{written[:_SHOWN]}…"


def _summary(reports: Sequence[FileReport]) -> str:
    counts = {level: sum(each.severity is level for r in reports for each in r.problems) for level in Severity}
    parts = [f"{number} {level}" for level, number in counts.items() if number]
    others = sum(each.others for each in reports)
    if torn := sum(bool(each.unreadable) for each in reports):
        parts.append(f"{torn} of {len(reports)} files could not be read")
    number = sum(each.services for each in reports)
    services = f"{number} SpeculativeInferenceService{'' if number == 1 else 's'}"
    rest = f" ({others} objects of other kinds not checked)" if others else ""
    return f"{services}: {', '.join(parts) or 'no problems'}{rest}"


def as_json(reports: Sequence[FileReport]) -> str:
    """A list of files with their problems."""
    return json.dumps([_file(each) for each in reports], indent=2, ensure_ascii=False, default=str) + "\n"


def _file(report: FileReport) -> dict[str, Any]:
    counts = {"file": report.file, "services": report.services, "others": report.others}
    unreadable = {"unreadable": report.unreadable} if report.unreadable else {}
    return counts | unreadable | {"remarks": [asdict(each) for each in report.problems]}


def sarif(reports: Sequence[FileReport]) -> str:
    """SARIF 2.1.0, as code review tools take it."""
    results = [
        _result(report.file, each.rule, _LEVELS[each.severity], _sentence(each), {"region": {"startLine": each.line}})
        for report in reports
        for each in report.problems
    ]
    results += [_result(each.file, "UNREADABLE", "error", each.unreadable, {}) for each in reports if each.unreadable]
    rules = [{"id": name} for name in sorted({each["ruleId"] for each in results})]
    driver = {"name": "specdec validate", "version": __version__, "rules": rules}
    run = {"tool": {"driver": driver}, "results": results}
    return json.dumps({"$schema": _SARIF, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _result(file: str, rule: str, level: str, words: str, place: dict[str, Any]) -> dict[str, Any]:
    where = {"artifactLocation": {"uri": file}, **place}
    return {"ruleId": rule, "level": level, "message": {"text": words}, "locations": [{"physicalLocation": where}]}


FORMATS: Final[Mapping[str, Callable[[Sequence[FileReport]], str]]] = MappingProxyType(
    {"text": text, "json": as_json, "sarif": sarif}
)
