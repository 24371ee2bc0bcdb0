"""Runs every layer of tests that this machine can run, and says what it could not run and why.

Layers: unit (pure), wire (real etcd and kube-apiserver on loopback), gitops (Argo CD's and Flux's own code), chart (the
real Helm; its life cycle needs a real node), browser (a real Chromium), faults (wire tests in which something breaks),
node (real kubelet, real vLLM). A cluster that was not up before is taken down again.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from xml.etree import ElementTree

from hack.cluster import lifecycle, paths, record
from hack.cluster.errors import ClusterError

_ROOT = pathlib.Path(__file__).parents[1]
_PREPARE = (
    ("local cluster", ("hack.cluster", "up")),
    ("images", ("hack.images", "all")),
    ("images of the tests", ("hack.images", "tests")),
    ("tiny models", ("hack.models",)),
)
_INSTALL = ("operator installed", ("hack.install",))
_MINUTES = 85
"""A run has 90: what does not fit into these any more is left out, and named."""


# Node tests that are run where there is time, and the minutes that they take
_LATE = (
    ("node, guests", "tests/node/test_guest.py", 5),
    ("node, memory", "tests/node/test_memory.py", 5),
    ("node, planned cache", "tests/node/test_planned_cache.py", 6),
    ("node, scaling", "tests/node/test_scaling.py", 7),
    ("node, plain pods", "tests/node/test_arms.py", 12),
    ("node, methods", "tests/node/test_methods.py", 12),
    ("node, faults", "tests/node/test_faults.py", 12),
)
_LIFE_CYCLE = "tests/chart/test_life_cycle.py"
_FAULTS = ("tests/wire/faults", "tests/wire/test_soak.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of one layer. Counts are tests; `lost` says why a layer was not run, or where it broke."""

    layer: str
    seconds: float
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    lost: str = ""


def main() -> int:
    """Runs the layers; the exit code is 0 when nothing failed and nothing broke."""
    begun = time.monotonic()
    results = [
        _pytest("unit and wire", "-n", "4", *(f"--ignore={each}" for each in _FAULTS), "tests/unit", "tests/wire"),
        _pytest("gitops", "-n", "2", "tests/gitops"),
        _pytest("chart", "-n", "2", f"--ignore={_LIFE_CYCLE}", "tests/chart"),
        _pytest("browser", "-n", "2", "tests/browser"),
        _pytest("faults", "-n", "6", *_FAULTS),
    ]
    results += _node(begun)
    print()
    for each in results:
        counts = f"{each.passed} passed, {each.failed} failed, {each.skipped} skipped"
        print(f"{each.layer:<22}{each.seconds:7.1f} s   {each.lost or counts}")
    passed, failed, skipped = (sum(getattr(each, part) for each in results) for part in ("passed", "failed", "skipped"))
    broken = [each for each in results if each.failed]
    print(f"\n{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    return 1 if broken or not passed else 0


def cannot_run_nodes() -> str:
    """Why this machine cannot have a node; empty where it can."""
    try:
        lifecycle.pick()
    except ClusterError as error:
        return f"not run: {error}"
    return ""


def _node(begun: float) -> list[Result]:
    if why := cannot_run_nodes():
        return [Result(layer="node", seconds=0.0, lost=why)]
    was_up = record.read(paths.layout()) is not None
    results: list[Result] = []
    try:
        for layer, module in _PREPARE:
            results.append(_prepare(layer, module))
            if results[-1].failed:
                return results
        results.append(_pytest("chart, life cycle", _LIFE_CYCLE))  # before an operator is there by other means
        results.append(_prepare(*_INSTALL))
        return results if results[-1].failed else [*results, *_engine(begun)]
    finally:
        if not was_up:
            _run(sys.executable, "-m", "hack.cluster", "down")


def _engine(begun: float) -> list[Result]:
    """The node tests: those that take long come last, and only where there is time."""
    results = [_pytest("node", *(f"--ignore={path}" for _, path, _ in _LATE), "tests/node")]
    for layer, path, minutes in _LATE:
        spent = (time.monotonic() - begun) / 60
        if spent + minutes <= _MINUTES:
            results.append(_pytest(layer, path))
        else:
            lost = f"not run: {spent:.0f} of {_MINUTES} minutes are over; pytest {path}"
            results.append(Result(layer=layer, seconds=0.0, lost=lost))
    return results


def _prepare(layer: str, module: tuple[str, ...]) -> Result:
    begun = time.monotonic()
    code = _run(sys.executable, "-m", *module)
    spent = time.monotonic() - begun
    if not code:
        return Result(layer=layer, seconds=spent, lost="ready")
    lost = f"FAILED: `python -m {' '.join(module)}` ended with code {code}; the tests that need it were not run"
    return Result(layer=layer, seconds=spent, failed=1, lost=lost)


def _pytest(layer: str, *words: str) -> Result:
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.xml"
        code = _run(sys.executable, "-m", "pytest", "-q", "--durations=10", f"--junitxml={report}", *words)
        spent = time.monotonic() - begun
        if not report.exists():
            return Result(layer=layer, seconds=spent, failed=1, lost=f"FAILED: pytest ended with code {code}")
        return counted(layer, spent, report.read_text(), code)


def counted(layer: str, seconds: float, report: str, code: int) -> Result:
    """The counts in a JUnit report. A run that pytest calls failed has failed, whatever it counted."""
    suites = list(ElementTree.fromstring(report).iter("testsuite"))  # noqa: S314 - pytest wrote it a moment ago
    total, failures, errors, skipped = (
        sum(int(suite.get(part, "0")) for suite in suites) for part in ("tests", "failures", "errors", "skipped")
    )
    failed = failures + errors
    return Result(
        layer=layer, seconds=seconds, passed=total - failed - skipped, failed=failed or int(code != 0), skipped=skipped
    )


def _run(*argv: str) -> int:
    print(f"$ {' '.join(argv[1:])}", flush=True)
    return subprocess.run(argv, cwd=_ROOT, check=False, env=os.environ).returncode


if __name__ == "__main__":
    raise SystemExit(main())
