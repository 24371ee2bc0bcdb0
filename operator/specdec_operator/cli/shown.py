"""How remarks are shown: text for people, JSON for programs, SARIF for code review tools."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from specdec_operator import __version__
from specdec_operator.cli.judge import Remark
from specdec_operator.engine.rule import Severity

_SHOWN: Final = 80
_LEVELS: Final = MappingProxyType({Severity.REFUSED: "error", Severity.WARNED: "warning", Severity.NOTED: "note"})
_SARIF: Final = "https://json.schemastore.org/sarif-2.1.0.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What was said about one file. seen: sis in it; others: objects of other kinds, which are not judged."""

    file: str
    remarks: tuple[Remark, ...] = ()
    seen: int = 0
    others: int = 0
    unreadable: str = ""


def text(reports: Sequence[Report]) -> str:
    """One line for each remark, and one that sums up."""
    out = []
    for report in reports:
        out += [_line(report.file, each) for each in report.remarks]
        if report.unreadable:
            out.append(f"{report.file}:{report.unreadable} (unreadable)")
    return "\n".join([*out, _summary(reports)]) + "\n"


def _line(file: str, remark: Remark) -> str:
    since = f", since v{remark.since}" if remark.since else ""
    value = "" if remark.value is None else f": {_value(remark.value)}"
    return (
        f"{file}:{remark.line} {remark.path}{value} — {remark.message} ({remark.severity}; rule {remark.rule}{since})"
    )


def _value(value: object) -> str:
    if isinstance(value, dict | list):
        return "{…}" if isinstance(value, dict) else "[…]"
    written = json.dumps(value, ensure_ascii=False, default=str)
    return written if len(written) <= _SHOWN else f"{written[:_SHOWN]}…"


def _summary(reports: Sequence[Report]) -> str:
    counts = {level: sum(each.severity is level for r in reports for each in r.remarks) for level in Severity}
    said = ", ".join(f"{number} {level}" for level, number in counts.items() if number)
    others = sum(each.others for each in reports)
    if torn := sum(bool(each.unreadable) for each in reports):
        said = ", ".join(filter(None, (said, f"{torn} of {len(reports)} files could not be read")))
    number = sum(each.seen for each in reports)
    seen = f"{number} SpeculativeInferenceService{'' if number == 1 else 's'}"
    return f"{seen}: {said or 'nothing to say'}" + (f" ({others} objects of other kinds not judged)" if others else "")


def as_json(reports: Sequence[Report]) -> str:
    """A list of files with their remarks."""
    return json.dumps([_file(each) for each in reports], indent=2, ensure_ascii=False, default=str) + "\n"


def _file(report: Report) -> dict[str, Any]:
    remarks = [
        {name: getattr(each, name) for name in ("severity", "line", "path", "value", "message", "rule", "since")}
        for each in report.remarks
    ]
    counts = {"file": report.file, "services": report.seen, "others": report.others}
    return counts | ({"unreadable": report.unreadable} if report.unreadable else {}) | {"remarks": remarks}


def sarif(reports: Sequence[Report]) -> str:
    """SARIF 2.1.0, as code review tools take it."""
    results = [_result(report.file, each) for report in reports for each in report.remarks]
    trouble = [_trouble(each) for each in reports if each.unreadable]
    rules = [{"id": name} for name in sorted({each["ruleId"] for each in results + trouble})]
    driver = {"name": "specdec validate", "version": __version__, "rules": rules}
    run = {"tool": {"driver": driver}, "results": results + trouble}
    return json.dumps({"$schema": _SARIF, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _result(file: str, remark: Remark) -> dict[str, Any]:
    where = {"artifactLocation": {"uri": file}, "region": {"startLine": remark.line}}
    value = "" if remark.value is None else f": {_value(remark.value)}"
    said = f"{remark.path}{value} — {remark.message}"
    return {
        "ruleId": remark.rule,
        "level": _LEVELS[remark.severity],
        "message": {"text": said},
        "locations": [{"physicalLocation": where}],
    }


def _trouble(report: Report) -> dict[str, Any]:
    where = {"artifactLocation": {"uri": report.file}}
    said = {"text": report.unreadable}
    return {"ruleId": "UNREADABLE", "level": "error", "message": said, "locations": [{"physicalLocation": where}]}


FORMATS: Final[Mapping[str, Callable[[Sequence[Report]], str]]] = MappingProxyType(
    {"text": text, "json": as_json, "sarif": sarif}
)
