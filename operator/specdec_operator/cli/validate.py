"""`specdec validate FILE...`: refuses what the engine would refuse, in the words of the spec, with file and line.

It starts in a few milliseconds, so that it can stand in a commit hook: it reads its own arguments and imports neither
pydantic nor the Kubernetes client.
"""

import argparse
import sys
from collections.abc import Sequence
from typing import Final

from specdec_operator.cli.assumed import assumed_kserve
from specdec_operator.cli.documents import MOST_BYTES, Unreadable, documents
from specdec_operator.cli.judge import Remark, is_sis, judge
from specdec_operator.cli.shown import FORMATS, Report
from specdec_operator.engine.rule import Severity
from specdec_operator.staging.kserve import KServe

FINE, REFUSED, UNREADABLE = 0, 1, 2
_STDIN: Final = "-"


def parser() -> argparse.ArgumentParser:
    """The arguments of `specdec validate`."""
    made = argparse.ArgumentParser(
        prog="specdec validate",
        description="Judges SpeculativeInferenceServices as the API server and the engine would.",
        epilog="Exit codes: 0 nothing is refused, 1 something is, 2 something could not be read.",
    )
    made.add_argument(
        "files", nargs="*", default=[_STDIN], metavar="FILE", help="YAML files; - or none: standard input"
    )
    made.add_argument("--format", choices=tuple(FORMATS), default="text", help="how to say it (default: text)")
    made.add_argument("--strict", action="store_true", help="warnings count as refusals")
    made.add_argument("--kserve", metavar="VERSION", help="the cluster's KServe, such as 0.20: what it cannot bring")
    made.add_argument("--notes", action="store_true", help="also show notes, which never refuse anything")
    return made


def main(argv: Sequence[str]) -> int:
    """Run; the exit code is the verdict."""
    asked = parser().parse_args(argv)
    try:
        kserve = assumed_kserve(asked.kserve)
    except ValueError as error:
        parser().error(str(error))
    reports = [report(file, *_read(file), kserve) for file in asked.files]
    shown = [_without_notes(each) if not asked.notes and asked.format == "text" else each for each in reports]
    sys.stdout.write(FORMATS[asked.format](shown))
    return code(reports, strict=asked.strict)


def report(file: str, text: str, trouble: str, kserve: KServe | None = None) -> Report:
    """Judge one file."""
    if trouble:
        return Report(file=file, unreadable=trouble)
    remarks: list[Remark] = []
    seen = others = 0
    try:
        for document in documents(text):
            if is_sis(document):
                seen += 1
                remarks += judge(document, kserve)
            else:
                others += 1
    except Unreadable as error:
        return Report(file=file, remarks=tuple(remarks), seen=seen, others=others, unreadable=f"{error.line}: {error}")
    return Report(file=file, remarks=tuple(remarks), seen=seen, others=others)


def code(reports: Sequence[Report], *, strict: bool) -> int:
    """The exit code."""
    if any(each.unreadable for each in reports):
        return UNREADABLE
    bad = {Severity.REFUSED, Severity.WARNED} if strict else {Severity.REFUSED}
    return REFUSED if any(remark.severity in bad for each in reports for remark in each.remarks) else FINE


def _read(file: str) -> tuple[str, str]:
    """The text, or why there is none."""
    try:
        if file == _STDIN:
            data = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            with open(file, "rb") as opened:
                data = opened.read(MOST_BYTES + 1)
        return data.decode(), ""
    except OSError as error:
        return "", f" {error.strerror or error}"
    except UnicodeDecodeError as error:
        return "", f" no text: byte {error.start} is not UTF-8"


def _without_notes(given: Report) -> Report:
    kept = tuple(each for each in given.remarks if each.severity is not Severity.NOTED)
    return Report(file=given.file, remarks=kept, seen=given.seen, others=given.others, unreadable=given.unreadable)
