"""Who may import whom: the pure core imports no I/O, and each outside library has one door."""

import ast
import functools
import pathlib
import sys
from collections.abc import Callable, Iterable
from typing import Any

import pytest

ROOT = pathlib.Path(__file__).parents[2]


def _sources(root: str) -> dict[str, str]:
    found = sorted((ROOT / root).rglob("*.py"))
    return {path.relative_to(ROOT / root).as_posix(): path.read_text() for path in found}


COMMAND = _sources("operator/specdec_command")
PROCESS = _sources("operator/specdec_operator")
OPERATOR = COMMAND | PROCESS
"""The operator and its command: one order of folders, two packages."""
RUNTIME = _sources("runtime/specdec_runtime")
ENGINE = _sources("runtime/specdec_engine")

PURE = (
    *("api", "engine", "staging", "guard", "schema", "guest", "observe", "downloads", "render", "report", "shell"),
    *("replay", "advice", "validation", "importing", "display", "measure", "tune", "doctor", "endpoint", "web"),
)
VALUE_MODULES = frozenset(
    (
        *(
            "bisect",
            "collections",
            "copy",
            "dataclasses",
            "difflib",
            "enum",
            "functools",
            "hashlib",
            "itertools",
            "json",
            "posixpath",
            "math",
            "re",
        ),
        *("statistics", "types", "typing"),
    )
)
BORROWED = {
    "advice/catalogue.py": {"pathlib"},
    "api": {"pydantic", "pydantic_core"},
    "api/times.py": {"datetime"},
    "guard/counters.py": {"prometheus_client.parser"},
    "downloads/job.py": {"pathlib"},
    "engine/image.py": {"specdec_operator.__version__"},
    "doctor": {"datetime", "pydantic"},
    "doctor/finding.py": {"pathlib"},
    "display": {"datetime"},
    "importing": {"yaml"},
    "measure/report.py": {"shlex"},
    "measure/requests.py": {"random"},
    "measure/table.py": {"rich"},
    "tune/order.py": {"random"},
    "tune/report.py": {"rich"},
    "observe/pods.py": {"datetime"},
    "replay": {"gzip", "pathlib"},
    "staging/compatibility.py": {"pathlib"},
    "report": {"operator", "prometheus_client", "pydantic"},
    "schema": {"pydantic"},
    "schema/crd.py": {"pydantic_core", "yaml"},
    "shell": {"enum", "tree_sitter", "tree_sitter_bash"},
    "staging/kserve.py": {"specdec_operator.__version__"},
    "validation": {"ast", "contextlib", "operator", "yaml", "specdec_operator.__version__"},
    "web": {"datetime", "html", "urllib.parse"},
    "web/server.py": {"ipaddress"},
}
"""What else pure code may import: parsers of text, and the doors to the package's own tables and programs."""
PROGRAM = tuple(f"downloads/program/{name}.py" for name in ("failure", "claim", "fetch"))
"""Travels as text into the staging Job and runs there: it is all I/O, and the operator never imports it."""
MEASURE_SHELL = (*(f"measure/{name}.py" for name in ("service", "baseline", "run")), "tune/run.py")
"""What `specdec measure` and `specdec tune` do to a cluster; the rest of their packages decides and reports."""
ENDPOINT_SHELL = ("endpoint/probe.py", "endpoint/troubles.py")
"""What `specdec check` asks of a server, and what its client's errors mean."""
SHELL = (*PROGRAM, *MEASURE_SHELL, *ENDPOINT_SHELL, "doctor/gather.py", "validation/check.py", "web/server.py")
"""Files of pure packages that ask the cluster, or listen for browsers; the rest of their packages works on values."""
PRINTS = "schema/crd.py"
"""Prints the CRD when it is run as a command."""

DOORS = {
    "kopf": {"app/watches.py", "app/main.py"},
    "kubernetes": {
        "kube/client.py",
        "kube/request.py",
        "leadership/election.py",
        "leadership/holding.py",
        "leadership/lease.py",
        "leadership/shards.py",
    },
    "aiohttp": {
        "app/watches.py",
        "kube/client.py",
        "kube/request.py",
        "leadership/lease.py",
        "process/health.py",
        "scrape/pods.py",
        "web/server.py",
    },
    "time": {
        "app/handlers.py",
        "app/inventory.py",
        "app/services.py",
        "cli/demo_show.py",
        "leadership/lease.py",
        "leadership/shards.py",
        "measure/run.py",
        "measure/baseline.py",
        "measure/service.py",
        "tune/run.py",
        "process/clock.py",
    },
    "os": {"settings.py", "leadership/holding.py"},
}
"""The only files that may import each."""

ORDER = {
    "errors": "everything may fail",
    "names": "what the cluster and users call things",
    "settings": "the process's configuration, as values",
    "process": "clock, memory and health of the process",
    "metrics": "the process's own numbers",
    "engine": "what a spec asks of the engine, in the engine's own terms",
    "staging": "where artifacts come from and lie",
    "api": "the spec, checked against what engines and storage can do",
    "observe": "views of the cluster's objects",
    "shell": "commands and scripts, by the grammar of bash",
    "guest": "views of what somebody else serves, by its flags",
    "guard": "decides by a spec and what is observed",
    "schema": "the spec and the status as the API server holds them",
    "downloads": "Jobs that bring what staging says",
    "render": "a spec and a decision as an InferenceService",
    "report": "what was decided and rendered as status, Events and metrics",
    "kube": "the API server",
    "leadership": "which replica may write, by Leases of the API server",
    "scrape": "the pods' counters as the guard takes them",
    "reconcile": "everything above in one loop a service",
    "replay": "the guard over recorded counters",
    "advice": "which method fits",
    "validation": "a spec without a cluster",
    "importing": "what people run today as a service",
    "display": "values in words, for the command and the page",
    "measure": "a service against its twin",
    "tune": "a service against itself, with other numbers of draft tokens",
    "doctor": "what is wrong in a cluster",
    "endpoint": "a running engine, by HTTP alone",
    "web": "the page of one process",
    "story": "recorded runs, played through the loop",
    "hooks": "what an installation runs before and after itself",
    "app": "puts the process together",
    "cli": "puts the command together",
    "__main__": "starts the process",
}
"""Packages and modules from the bottom up, each with what it is: imports run downwards only."""

MOST_LINES = 400

CORE = [path for path in OPERATOR if path.partition("/")[0] in PURE and path not in SHELL]


def package(path: str) -> str:
    """The package that a file lies in; the file itself where it lies in none."""
    return path.partition("/")[0]


@functools.cache
def nodes(source: str) -> tuple[ast.AST, ...]:
    """All parts of a source; parsed once for all tests."""
    return tuple(ast.walk(ast.parse(source)))


@functools.cache
def imported(source: str) -> frozenset[str]:
    """The modules that a source imports, by their full names."""
    found: set[str] = set()
    for node in nodes(source):
        match node:
            case ast.Import(names=names):
                found |= {each.name for each in names}
            case ast.ImportFrom(module=str(module), level=0, names=names):
                own = module.startswith("specdec_")
                found |= {f"{module}.{each.name}" for each in names} if own else {module}
            case ast.ImportFrom():
                found.add("a relative import")
    return frozenset(found)


def strangers_in_pure(path: str, source: str) -> set[str]:
    """What a file of a pure package imports and must not."""
    own = {f"{each}.{name}" for name in ("names", "errors", *PURE) for each in ("specdec_command", "specdec_operator")}
    borrowed = BORROWED.get(path, set()) | BORROWED.get(package(path), set())
    allowed = (*VALUE_MODULES, "specdec_engine", *own, *borrowed, *(["sys"] if path == PRINTS else []))
    return {name for name in imported(source) if not any(f"{name}.".startswith(f"{each}.") for each in allowed)}


def violations(paths: Iterable[str], rule: Callable[[str, str], Any]) -> dict[str, Any]:
    """What a rule finds in files of the operator and the command, by file."""
    return {path: found for path in paths if (found := rule(path, OPERATOR[path]))}


def test_the_pure_core_imports_values_and_itself_only() -> None:
    """No I/O, clock, chance, logging or environment: what it decides depends on its arguments alone."""
    assert violations(CORE, strangers_in_pure) == {}


IMPURE = {"open", "print", "input", "exec", "eval"}


def called(source: str) -> set[str]:
    """The functions that a source calls by their bare names."""
    calls = [node.func for node in nodes(source) if isinstance(node, ast.Call)]
    return {each.id for each in calls if isinstance(each, ast.Name)}


def test_the_pure_core_opens_and_prints_nothing() -> None:
    """Builtins need no import, so they are looked for by name."""
    assert called("def f():\n    print(open(1))") & IMPURE == {"open", "print"}
    assert violations(CORE, lambda _, source: IMPURE & called(source)) == {}


def upwards(path: str, source: str) -> set[str]:
    """What a file imports of a package that lies above its own."""
    order = [*ORDER]
    place = order.index(package(path).removesuffix(".py"))
    ours = {name for name in imported(source) if name.startswith(("specdec_command.", "specdec_operator."))}
    return {name for name in ours if (part := name.split(".")[1]) in ORDER and order.index(part) > place}


def test_the_order_names_every_package() -> None:
    """A new one finds its place before it is used."""
    parts = {package(path).removesuffix(".py") for path in OPERATOR}
    assert parts - {"__init__"} == {*ORDER}


def test_imports_run_downwards() -> None:
    """What lies below is read, tested and changed without what lies above."""
    assert violations(OPERATOR.keys() - {"__init__.py"}, upwards) == {}


def test_the_operator_does_not_import_its_command() -> None:
    """Its image does not carry it."""
    strangers = {path for path, source in PROCESS.items() if "specdec_command" in source}
    assert strangers == set()


def test_a_folder_is_of_one_package() -> None:
    """The order has one place for each name."""
    assert {package(path) for path in COMMAND} & {package(path) for path in PROCESS} == {"__init__.py"}


def test_an_import_that_runs_upwards_is_seen() -> None:
    """Of a module, of a name in it, and of a whole package; not of its own."""
    source = "from specdec_operator import reconcile, names\nimport specdec_operator.app.main\n"
    source += "from specdec_operator.guard.state import State\nfrom specdec_operator.report.events import Event\n"
    assert upwards("guard/judge.py", source) == {
        "specdec_operator.reconcile",
        "specdec_operator.app.main",
        "specdec_operator.report.events.Event",
    }


@pytest.mark.parametrize("library", DOORS)
def test_each_outside_library_has_its_door(library: str) -> None:
    """Swapping a client, faking the clock or the network touches these files only."""
    users = {
        path for path, source in OPERATOR.items() if any(name.split(".")[0] == library for name in imported(source))
    }
    assert users - {*PROGRAM} == DOORS[library]


def test_the_program_of_the_staging_job_is_the_standard_library_and_itself() -> None:
    """It runs in an image that knows nothing of the operator: what it imports from here travels with it."""
    parts = {f"specdec_operator.{path.removesuffix('.py').replace('/', '.')}" for path in PROGRAM}
    for path in PROGRAM:
        ours = {name.rpartition(".")[0] for name in imported(OPERATOR[path]) if name.startswith("specdec_")}
        others = {name for name in imported(OPERATOR[path]) if not name.startswith("specdec_")}
        assert ours <= parts | {"specdec_operator.staging.failure_reasons"}, path
        assert {name.split(".")[0] for name in others} <= sys.stdlib_module_names, path
    users = {path for path, source in OPERATOR.items() for name in imported(source) if name.rpartition(".")[0] in parts}
    assert users <= {*PROGRAM}


GUESTS = {"plugin.py", "hidden_states.py", "dial/plugin.py", "dial/selftest.py", "clock/collector.py"}
"""Files that only vLLM imports."""


def test_the_runtime_imports_the_standard_library_only() -> None:
    """It runs inside an engine's image, whose packages are the engine's business; vLLM's own guests may use its."""
    strangers = {
        path: outside
        for path, source in (*RUNTIME.items(), *ENGINE.items())
        if path not in GUESTS
        and (outside := {n for n in imported(source) if n.split(".")[0] not in sys.stdlib_module_names} - _own(source))
    }
    assert strangers == {}


def _own(source: str) -> set[str]:
    return {name for name in imported(source) if name.split(".")[0] in ("specdec_engine", "specdec_runtime")}


def test_what_operator_and_runtime_share_imports_values_and_itself_only() -> None:
    """So both may import it anywhere, and a pod without the operator's libraries can."""
    allowed = (*VALUE_MODULES, "__future__", "specdec_engine")
    strangers = {
        (path, name)
        for path, source in ENGINE.items()
        for name in imported(source)
        if not any(f"{name}.".startswith(f"{each}.") for each in allowed)
    }
    assert strangers == {("tables.py", "pathlib")}
    assert [path for path, source in ENGINE.items() if IMPURE & called(source)] == []


@pytest.mark.parametrize(
    ("root", "packages"),
    [("operator", {"specdec_command", "specdec_operator"}), ("runtime", {"specdec_engine", "specdec_runtime"})],
)
def test_source_roots_hold_packages_only(root: str, packages: set[str]) -> None:
    """`operator/__init__.py` would shadow the standard library's `operator` and break Python itself."""
    assert [path.name for path in (ROOT / root).glob("*.py")] == []
    assert {path.name for path in (ROOT / root).iterdir() if (path / "__init__.py").exists()} == packages


def test_files_stay_small_and_have_a_docstring() -> None:
    """One subject a file: at most 400 lines, and a docstring on top."""
    sources = [*COMMAND.items(), *PROCESS.items(), *RUNTIME.items(), *ENGINE.items()]
    assert [path for path, source in sources if len(source.splitlines()) > MOST_LINES] == []
    modules = [(path, nodes(source)[0]) for path, source in sources]
    assert [path for path, each in modules if isinstance(each, ast.Module) and not ast.get_docstring(each)] == []


def test_a_forbidden_import_is_seen() -> None:
    """The walk finds imports inside functions, under other names, and of our own shell."""
    source = "def f():\n    import time as t\nfrom aiohttp.web import x\nfrom specdec_operator import metrics\n"
    assert strangers_in_pure("guard/judge.py", source) == {"time", "aiohttp.web", "specdec_operator.metrics"}
    assert strangers_in_pure("guard/judge.py", "import prometheus_client.parser, yaml") == {
        "prometheus_client.parser",
        "yaml",
    }


OF_NO_MODULE = {
    "cli/test_import": "the module is cli/import_.py",
    "deploy/test_monitoring": "the files of the chart that monitor",
    "docs/test_links": "pages",
    "docs/test_words": "pages",
    "docs/test_works_with": "pages",
    "hack/test_debian": "a tool of the tests",
    "hack/test_fetched_programs": "tools of the tests",
    "process/test_loaded_modules": "the process as a whole",
    "test_agreement": "all parts together",
    "test_declared_once": "all parts together",
    "test_released_interface": "all parts together",
}


def test_each_unit_test_is_named_after_the_module_that_it_tests() -> None:
    """`test_X.py` or `test_X_aspect.py` for a module or a folder X, so that a module's tests are found by its name."""
    files = [path for root in ("operator", "runtime", "hack", "lab") for path in (ROOT / root).rglob("*.py")]
    modules = {name for each in files for name in (each.stem, each.parent.name, f"{each.parent.name}_{each.stem}")}
    unit = ROOT / "tests/unit"
    tests = {path.relative_to(unit).with_suffix("").as_posix() for path in unit.rglob("test_*.py")}
    others = {each for each in tests if each.startswith(tuple(OF_NO_MODULE))}
    words = {each: each.rpartition("/test_")[2].removeprefix("test_").split("_") for each in tests - others}
    named = {
        each for each, parts in words.items() if modules & {"_".join(parts[: end + 1]) for end in range(len(parts))}
    }
    assert words.keys() - named == set()
    assert [each for each in OF_NO_MODULE if not any(test.startswith(each) for test in others)] == []
