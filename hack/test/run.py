"""Runs pytest and the preparations of a node, and counts what came of them."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, replace
from typing import Final
from xml.etree import ElementTree

from hack.test.parts import SuitePart

ROOT: Final = pathlib.Path(__file__).parents[2]
_PATIENCE: Final = 90.0
"""Seconds in which pytest may take down what its tests have started, and write its report."""
_FAULTS: Final = ("failure", "error")
"""Elements of a JUnit report."""
_LAST_LINES: Final = 12
"""Of a failed test's output: they hold its last frame and the error."""
_STOPPED: Final = threading.Event()
"""Set by Ctrl-C."""
_RUNNING: Final[set[subprocess.Popen[bytes]]] = set()
_TERMINAL: Final = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class PartResult:
    """What became of a part. Counts are tests; `lost` is why it was not run, or where it broke.

    broken: each test that failed, with the last lines of its output.
    """

    name: str
    proves: str = ""
    seconds: float = 0.0
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    lost: str = ""
    broken: tuple[str, ...] = ()

    @property
    def outcome(self) -> str:
        """The counts as text, or why there are none."""
        return self.lost or f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def part_of_tests(part: SuitePart, seconds: float | None = None, *, aside: bool = False) -> PartResult:
    """One part by one pytest. After `seconds` it is interrupted; the tests that ended until then count.

    aside: another part runs at the same time. What this one prints is shown when it has ended.
    """
    if _STOPPED.is_set():
        return PartResult(name=part.name, proves=part.proves, failed=1, lost="not run: stopped")
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.xml"
        argv = (
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "hack.test.ending",
            "--durations=10",
            f"--junitxml={report}",
            *part.words,
        )
        code = call(argv, seconds, aside=aside)
        spent = time.monotonic() - begun
        if not report.exists():
            ended = "killed: no report" if code is None else f"pytest ended with code {code}"
            return PartResult(name=part.name, proves=part.proves, seconds=spent, failed=1, lost=f"FAILED: {ended}")
        found = counted(part, spent, report.read_text(), code or 0)
    return found if code is not None else replace(found, lost=f"{found.outcome}; the rest not run: the time is over")


def counted(part: SuitePart, seconds: float, report: str, code: int) -> PartResult:
    """The counts in a JUnit report. A run that pytest calls failed has failed, whatever it counted."""
    root = ElementTree.fromstring(report)  # noqa: S314 - pytest wrote it a moment ago
    suites = list(root.iter("testsuite"))
    total, failures, errors, skipped = (
        sum(int(suite.get(key, "0")) for suite in suites) for key in ("tests", "failures", "errors", "skipped")
    )
    failed = failures + errors
    return PartResult(
        name=part.name,
        proves=part.proves,
        seconds=seconds,
        passed=total - failed - skipped,
        failed=failed or int(code != 0),
        skipped=skipped,
        broken=tuple(_told(case, each) for case in root.iter("testcase") for each in case if each.tag in _FAULTS),
    )


def _told(case: ElementTree.Element, fault: ElementTree.Element) -> str:
    lines = [each for each in (fault.text or fault.get("message") or "").splitlines() if each.strip()]
    return "\n    ".join([f"{case.get('classname')}::{case.get('name')}", *lines[-_LAST_LINES:]])


def prepared(name: str, *module: str) -> PartResult:
    """One preparation, a command of `hack`; what needs it is not run where it fails."""
    if _STOPPED.is_set():
        return PartResult(name=name, failed=1, lost="not run: stopped")
    begun = time.monotonic()
    code = call((sys.executable, "-m", *module))
    spent = time.monotonic() - begun
    if not code:
        return PartResult(name=name, seconds=spent, lost="ready")
    lost = f"FAILED: `python -m {' '.join(module)}` ended with code {code}; the tests that need it were not run"
    return PartResult(name=name, seconds=spent, failed=1, lost=lost)


def call(argv: tuple[str, ...], seconds: float | None = None, *, aside: bool = False) -> int | None:
    """The exit code of a command whose output is passed on; None where it was ended after `seconds`.

    It has a process group of its own, so that workers and servers of tests end with it. aside: its output is kept, and
    shown in one piece when it has ended.
    """
    _show(f"$ {' '.join(argv[1:])}\n")
    with tempfile.TemporaryFile() as kept:
        out, err = (kept, subprocess.STDOUT) if aside else (None, None)
        with subprocess.Popen(argv, cwd=ROOT, env=os.environ, process_group=0, stdout=out, stderr=err) as process:
            code = _waited(process, seconds)
        if aside:
            kept.seek(0)
            _show(f"$ {' '.join(argv[1:])}: ended\n{kept.read().decode(errors='replace')}")
    return code


def stop() -> None:
    """End what other threads have started, and have them begin no other test or preparation."""
    _STOPPED.set()
    for process in tuple(_RUNNING):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)


def _waited(process: subprocess.Popen[bytes], seconds: float | None) -> int | None:
    _RUNNING.add(process)
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        _end(process, signal.SIGTERM)
        return None
    except KeyboardInterrupt:
        _end(process, signal.SIGINT)
        raise
    finally:
        _RUNNING.discard(process)


def _show(text: str) -> None:
    with _TERMINAL:
        sys.stdout.write(text)
        sys.stdout.flush()


def _end(process: subprocess.Popen[bytes], how: signal.Signals) -> None:
    """Ask the group to end, and kill what is left of it afterwards, or after a while."""
    os.killpg(process.pid, how)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_PATIENCE)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
