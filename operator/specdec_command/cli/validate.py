"""`specdec validate FILE...`: refuses what the engine would refuse, by the names of the spec, with file and line.

It starts in a few milliseconds, so that it can run in a commit hook: it reads its own arguments, and does not import
pydantic or the Kubernetes client.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from specdec_command.validation.check import DocumentProblem, check_document, is_service
from specdec_command.validation.documents import MOST_BYTES, Unreadable, documents
from specdec_command.validation.report import FORMATS, FileReport
from specdec_engine.rule import Severity
from specdec_operator.staging.kserve import KServe, assumed_kserve

FINE, REFUSED, UNREADABLE = 0, 1, 2
_STDIN: Final = "-"


def parser() -> argparse.ArgumentParser:
    """The arguments of `specdec validate`."""
    made = argparse.ArgumentParser(
        prog="specdec validate",
        description="Checks SpeculativeInferenceServices with the rules of the API server and the engine.",
        epilog="Exit codes: 0 no error, 1 at least one error, 2 a file could not be read.",
    )
    made.add_argument(
        "files", nargs="*", default=[_STDIN], metavar="FILE", help="YAML files; - or no file: standard input"
    )
    made.add_argument("--format", choices=tuple(FORMATS), default="text", help="output format (default: text)")
    made.add_argument("--strict", action="store_true", help="treat warnings as errors")
    made.add_argument(
        "--kserve", metavar="VERSION", help="the cluster's KServe version, such as 0.20, to check what it can provide"
    )
    made.add_argument("--notes", action="store_true", help="also show notes, which never cause an error")
    return made


def main(argv: Sequence[str]) -> int:
    """Run; the exit code is the verdict."""
    arguments = parser().parse_args(argv)
    try:
        kserve = assumed_kserve(arguments.kserve)
    except ValueError as error:
        parser().error(str(error))
    reports = [report(file, *_read(file), kserve) for file in arguments.files]
    hides_notes = arguments.format == "text" and not arguments.notes
    sys.stdout.write(FORMATS[arguments.format]([_without_notes(each) for each in reports] if hides_notes else reports))
    return code(reports, strict=arguments.strict)


def report(file: str, text: str, trouble: str, kserve: KServe | None = None) -> FileReport:
    """Judge one file."""
    if trouble:
        return FileReport(file=file, unreadable=trouble)
    problems: list[DocumentProblem] = []
    services = others = 0
    unreadable = ""
    try:
        for document in documents(text):
            if is_service(document):
                services += 1
                problems += check_document(document, kserve)
            else:
                others += 1
    except Unreadable as error:
        unreadable = f"{error.line}: {error}"
    return FileReport(file=file, problems=tuple(problems), services=services, others=others, unreadable=unreadable)


def code(reports: Sequence[FileReport], *, strict: bool) -> int:
    """The exit code."""
    if any(each.unreadable for each in reports):
        return UNREADABLE
    bad = {Severity.REFUSED, Severity.WARNED} if strict else {Severity.REFUSED}
    return REFUSED if any(problem.severity in bad for each in reports for problem in each.problems) else FINE


def _read(file: str) -> tuple[str, str]:
    """The text, or why there is none."""
    try:
        if file == _STDIN:
            if sys.stdin.isatty():
                sys.stderr.write("reading a service from the terminal: end it with Ctrl-D, or give FILE\n")
            data = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            with open(file, "rb") as opened:
                data = opened.read(MOST_BYTES + 1)
        return data.decode(), ""
    except IsADirectoryError:
        return "", f" a folder: give its files, such as {file.rstrip('/')}/*.yaml"
    except OSError as error:
        return "", f" {error.strerror or error}"
    except UnicodeDecodeError as error:
        return "", f" not text: byte {error.start} is not UTF-8"


def _without_notes(given: FileReport) -> FileReport:
    return replace(given, problems=tuple(each for each in given.problems if each.severity is not Severity.NOTED))
