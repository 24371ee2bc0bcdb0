"""Writes the generated pages: all generated pages of docs/, the tables of docs/guard-reference.md,
docs/guard-evidence.md, docs/engine.md, docs/monitoring.md and docs/runtime.md, and the demo's run in README.md and
docs/demo.md. Their templates are in hack/pages.

`python -m hack.reference` writes; `python -m hack.reference verify` reports which of them are stale.
"""

import importlib
import inspect
import json
import pathlib
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, Final

import yaml
from lab.demo import page as demo_page
from lab.demo import readme
from lab.engine.page import page as engine_page
from lab.guard.page import page as guard_evidence_page
from lab.memory import data as memory_plans
from lab.memory import page as memory_page
from lab.scale.page import page as scale_page
from lab.staging.page import page as staging_page
from lab.trial.report import page as images_page
from lab.verdicts.features import page as works_with_page
from tests.wire.faults.table import FAULTS, Part

from hack.command import generate, run
from hack.pages import filled, render, said
from hack.pages.api import page as api_page
from hack.pages.methods import page as methods_page
from hack.pages.seeds import page as seeds_page
from specdec_command.cli.rules import markdown as rules_page
from specdec_command.doctor.finding import KINDS, DoctorSeverity
from specdec_engine.head_names import registered_heads
from specdec_engine.rule import Severity
from specdec_engine.tables import table
from specdec_engine.version import NEWEST, Version
from specdec_operator.guard.judge import CHECKS
from specdec_operator.guard.state import Phase
from specdec_operator.guard.transitions import TABLE
from specdec_operator.staging.compatibility import MATRIX
from specdec_operator.staging.kserve import shown
from specdec_runtime.preflight import RULES, WORDS, FolderRule
from specdec_runtime.preflight.check_tensors import LARGEST, LARGEST_FLAT, MEDIAN
from specdec_runtime.preflight.finding import ROLE
from specdec_runtime.preflight.values import PLACES, STRETCH

_ROOT: Final = pathlib.Path(__file__).parents[1]
_DOCS: Final = _ROOT / "docs"
_ALERTS: Final = _ROOT / "charts" / "specdec-operator" / "files" / "rules.yaml"
_LONG: Final = 80
"""Characters of a rule of the guard that its second state refers to instead."""


def doctor_page() -> str:
    """docs/doctor.md: everything that `specdec doctor` can find, from the checks themselves."""
    fixes = sum(each.severity is DoctorSeverity.FIX for each in KINDS.values())
    return render("doctor.md", kinds=KINDS.values(), fixes=fixes)


def preflight_page() -> str:
    """docs/preflight.md: what the runtime looks at before it starts vLLM, from the rules themselves."""
    refused = sum(each.severity is Severity.REFUSED for each in RULES)
    bounds = {"places": PLACES, "stretch": STRETCH, "largest": LARGEST, "largest_flat": LARGEST_FLAT, "median": MEDIAN}
    heads = registered_heads(Version(*NEWEST))
    known = {"registered": sorted(heads.items(), key=lambda each: each[1])}
    known |= {"speculators": table("methods")["speculators"]}
    return render("preflight.md", rules=RULES, words=WORDS, refused=refused, names=_names, **bounds, **known)


def _names(rule: FolderRule) -> str:
    roles = ("Target", "Draft") if ROLE in rule.id else ("",)
    return ", ".join(f"`{rule.id.replace(ROLE, role)}`" for role in roles)


def reliability_page() -> str:
    """docs/reliability.md: what was done to the operator, and what it did, from the tests that do it."""
    for file in sorted((_ROOT / "tests").glob("*/**/test_*.py")):
        if "\n@fault(" in file.read_text(encoding="utf-8"):
            importlib.import_module(".".join(file.relative_to(_ROOT).with_suffix("").parts))
    parts = [(part, [each for each in FAULTS if each.part is part]) for part in Part]
    return render("reliability.md", parts=[(part, faults) for part, faults in parts if faults])


def guard_reference_page(text: str) -> str:
    """docs/guard-reference.md with its tables, out of the guard's own code: checks and states."""
    meanings = dict(_documented(Phase))
    states = [(phase, meanings[phase], _rules(phase)) for phase in Phase]
    parts: dict[str, dict[str, Any]] = {"states": {"states": states}, "checks": {"checks": CHECKS}}
    return filled(text, "docs/guard-reference.md", parts)


def _rules(phase: Phase) -> Iterator[str]:
    """The rules of a state as sentences. A long rule that an earlier state has is a reference to it."""
    for number, rule in enumerate(TABLE[phase], 1):
        words = f"{said(rule.when)} → {said(rule.then)}"
        first = next(f"As {state} {each.index(rule) + 1}." for state, each in TABLE.items() if rule in each)
        yield words if len(words) <= _LONG or first == f"As {phase} {number}." else first


def _documented(kind: type[Enum]) -> Iterator[tuple[Enum, str]]:
    """Each member with the string below it in the source."""
    source = inspect.getsource(kind).splitlines()
    for each in kind:
        at = next(number for number, line in enumerate(source) if line.strip().startswith(f"{each.name} ="))
        yield each, source[at + 1].strip().strip('"')


def monitoring_page(text: str) -> str:
    """docs/monitoring.md with its table of alerts, out of the chart's rules."""
    groups = yaml.safe_load(_ALERTS.read_text(encoding="utf-8"))["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    return filled(text, "docs/monitoring.md", {"alerts": {"rules": rules}})


def runtime_page(text: str) -> str:
    """docs/runtime.md: its table of engines that have a dial."""
    return filled(text, "docs/runtime.md", {"dial": {"rows": table("dial")["rows"]}})


def dial_page(text: str) -> str:
    """docs/dial.md: how soon pods follow, and what requests notice (tests/node/test_dial_times.py); how fast an engine
    is at each end of the dial (`python -m lab.engine dial`).
    """
    times, requests, engine = (
        json.loads((_DOCS / "dial" / f"{name}.json").read_text("utf-8")) for name in ("times", "requests", "engine")
    )
    speed = {"engine": engine, **dial_speed(engine["measured"])}
    return filled(text, "docs/dial.md", {"times": times, "requests": {"requests": requests}, "speed": speed})


def dial_speed(measured: Mapping[str, Any]) -> dict[str, Any]:
    """Speeds at each end of the dial, of an engine without speculation, by method and batch; and the cost at rest."""
    compared = [each for each in measured["speed"].values() if "of_baseline" in each]
    rows: dict[tuple[str, int], dict[str, Any]] = {}
    for each in compared:
        rows.setdefault((each["engine"], each["batch"]), {})["all" if each["dial"] else "off"] = each["of_baseline"]
    return {"rows": rows, "rounds": len(compared[0]["blocks"]), "idle": next(iter(measured["idle"].values()))}


def versioning_page(text: str) -> str:
    """docs/versioning.md: its table of Kubernetes, KServe and vLLM."""
    return filled(text, "docs/versioning.md", {"compatibility": {"parts": MATRIX, "shown": shown}})


def pages() -> dict[pathlib.Path, str]:
    """Every generated page."""
    whole = {
        "api": api_page,
        "doctor": doctor_page,
        "preflight": preflight_page,
        "rules": rules_page,
        "methods": methods_page,
        "staging": staging_page,
        "memory": memory_page,
        "reliability": reliability_page,
        "scale": scale_page,
        "seeds": seeds_page,
    }
    parts = {
        _DOCS / "engine.md": engine_page,
        _DOCS / "images.md": images_page,
        _DOCS / "guard-reference.md": guard_reference_page,
        _DOCS / "guard-evidence.md": guard_evidence_page,
        _DOCS / "monitoring.md": monitoring_page,
        _DOCS / "runtime.md": runtime_page,
        _DOCS / "versioning.md": versioning_page,
        _DOCS / "works-with.md": works_with_page,
        _DOCS / "demo.md": demo_page,
        _DOCS / "dial.md": dial_page,
        _ROOT / "README.md": readme,
    }
    made = {_DOCS / f"{name}.md": make() for name, make in whole.items()}
    made[_DOCS / "memory" / "planned.json"] = memory_plans()
    return made | {path: fill(path.read_text(encoding="utf-8")) for path, fill in parts.items()}


if __name__ == "__main__":
    run(lambda argv: generate(pages(), argv))
