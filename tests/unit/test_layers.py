"""Who may import whom: the pure core imports no I/O, and each outside library has one door."""

import ast
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]


def _sources(root: str) -> dict[str, str]:
    found = sorted((ROOT / root).rglob("*.py"))
    return {path.relative_to(ROOT / root).as_posix(): path.read_text() for path in found}


OPERATOR = _sources("operator/specdec_operator")
RUNTIME = _sources("runtime/specdec_runtime")

PURE = ("advice", "api", "downloads", "engine", "staging", "guard", "serving", "measure", "doctor", "web")
VALUE_MODULES = frozenset(
    ("collections", "dataclasses", "enum", "functools", "hashlib", "itertools", "json", "math", "re", "types", "typing")
)
BORROWED = {
    "api": {"pydantic", "yaml"},
    "guard/counters.py": {"prometheus_client.parser"},
    "engine/tables.py": {"pathlib"},
    "downloads/job.py": {"pathlib"},
    "downloads/view.py": {"datetime"},
    "doctor": {"datetime", "pydantic", "specdec_operator.cli.found"},
    "measure/table.py": {"rich"},
    "web": {"specdec_operator.cli.found", "specdec_operator.cli.status_words", "datetime", "html", "urllib.parse"},
    "web/hosts.py": {"ipaddress"},
    "serving/pods.py": {"datetime"},
}
"""What pure code may import besides: parsers of text, and the doors to the package's own tables and programs."""
PROGRAM = tuple(f"downloads/{name}.py" for name in ("fetch_failure", "fetch_check", "fetch_claim", "fetch"))
"""Travels as text into the staging Job and runs there: it is all I/O, and the operator never imports it."""
MEASURE_SHELL = tuple(f"measure/{name}.py" for name in ("connection", "service", "asking", "plain", "run"))
"""What `specdec measure` does to a cluster; the rest of its package decides and tells."""
WEB_SHELL = ("web/server.py",)
"""Listens for browsers; the rest of its package makes pages of values."""
PRINTS = "api/crd.py"
"""Prints the CRD when it is run as a command."""

DOORS = {
    "kopf": {"control/handlers.py", "control/patient.py", "operating.py"},
    "kubernetes": {
        "cluster.py",
        "connection.py",
        "errand.py",
        "leading.py",
        "lease.py",
        "measure/connection.py",
        "request.py",
    },
    "aiohttp": {
        "bounded.py",
        "measure/connection.py",
        "scrape.py",
        "prometheus.py",
        "lease.py",
        "request.py",
        "standby.py",
        "web/server.py",
    },
    "time": {
        "control/handlers.py",
        "clock.py",
        "lease.py",
        "measure/asking.py",
        "measure/plain.py",
        "measure/service.py",
        "operating.py",
    },
    "random": {"control/handlers.py"},
    "os": {"settings.py", "leading.py"},
}
"""The only files that may import each."""

MOST_LINES = 250

SHELL = (*PROGRAM, *MEASURE_SHELL, *WEB_SHELL)
CORE = [path for path in OPERATOR if path.partition("/")[0] in PURE and path not in SHELL]


def package(path: str) -> str:
    """The package that a file lies in; the file itself where it lies in none."""
    return path.partition("/")[0]


def imported(source: str) -> set[str]:
    """The modules that a source imports, by their full names."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                found |= {each.name for each in names}
            case ast.ImportFrom(module=str(module), level=0, names=names):
                own = module.startswith("specdec_")
                found |= {f"{module}.{each.name}" for each in names} if own else {module}
            case ast.ImportFrom():
                found.add("a relative import")
    return found


def strangers_in_pure(path: str, source: str) -> set[str]:
    """What a file of a pure package imports and must not."""
    own = {f"specdec_operator.{name}" for name in ("names", "errors", *PURE)}
    borrowed = BORROWED.get(path, set()) | BORROWED.get(package(path), set())
    allowed = (*VALUE_MODULES, *own, *borrowed, *(["sys"] if path == PRINTS else []))
    return {name for name in imported(source) if not any(f"{name}.".startswith(f"{each}.") for each in allowed)}


@pytest.mark.parametrize("path", CORE)
def test_the_pure_core_imports_values_and_itself_only(path: str) -> None:
    """No I/O, clock, chance, logging or environment: what it decides depends on its arguments alone."""
    assert strangers_in_pure(path, OPERATOR[path]) == set()


@pytest.mark.parametrize("path", CORE)
def test_the_pure_core_opens_and_prints_nothing(path: str) -> None:
    """Builtins need no import, so they are looked for by name."""
    calls = [node.func for node in ast.walk(ast.parse(OPERATOR[path])) if isinstance(node, ast.Call)]
    assert not {"open", "print", "input", "exec", "eval"} & {each.id for each in calls if isinstance(each, ast.Name)}


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
        assert ours <= parts | {"specdec_operator.staging.words"}, path
        assert {name.split(".")[0] for name in others} <= sys.stdlib_module_names, path
    users = {path for path, source in OPERATOR.items() for name in imported(source) if name.rpartition(".")[0] in parts}
    assert users <= {*PROGRAM}


GUESTS = {"plugin.py", "hidden_states.py"}
"""Files that only vLLM imports."""


def test_the_runtime_imports_the_standard_library_only() -> None:
    """It runs inside an engine's image, whose packages are the engine's business; vLLM's own guests may use its."""
    strangers = {
        path: outside
        for path, source in RUNTIME.items()
        if path not in GUESTS
        and (outside := {n for n in imported(source) if n.split(".")[0] not in sys.stdlib_module_names} - _own(source))
    }
    assert strangers == {}


def _own(source: str) -> set[str]:
    return {name for name in imported(source) if name.split(".")[0] == "specdec_runtime"}


@pytest.mark.parametrize("root", ["operator", "runtime"])
def test_source_roots_hold_packages_only(root: str) -> None:
    """`operator/__init__.py` would shadow the standard library's `operator` and break Python itself."""
    assert [path.name for path in (ROOT / root).glob("*.py")] == []
    assert [path.name for path in (ROOT / root).iterdir() if (path / "__init__.py").exists()] == [f"specdec_{root}"]


@pytest.mark.parametrize("file", sorted([*ROOT.glob("operator/*/**/*.py"), *ROOT.glob("runtime/*/**/*.py")]))
def test_files_stay_small_and_say_what_they_are(file: pathlib.Path) -> None:
    """One idea a file: at most 250 lines, and a docstring on top."""
    source, path = file.read_text(), file.name
    assert len(source.splitlines()) <= MOST_LINES, path
    assert ast.get_docstring(ast.parse(source)), path


def test_a_forbidden_import_is_seen() -> None:
    """The walk finds imports inside functions, under other names, and of our own shell."""
    source = "def f():\n    import time as t\nfrom aiohttp.web import x\nfrom specdec_operator import metrics\n"
    assert strangers_in_pure("guard/judge.py", source) == {"time", "aiohttp.web", "specdec_operator.metrics"}
    assert strangers_in_pure("guard/judge.py", "import prometheus_client.parser, yaml") == {
        "prometheus_client.parser",
        "yaml",
    }
