"""docs/methods.md: what each method is, needs and gives, from the catalogue."""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import yaml

from hack.pages import render
from specdec_command.advice.catalogue import METHODS, MethodAdvice, MethodFact, Workload, data, release_for, runs_on
from specdec_command.advice.estimate import UNDER_LOAD
from specdec_command.advice.recommend import plain
from specdec_engine.version import IMAGES
from specdec_operator.engine.build import build_of

_RUNS: Final = Path(__file__).parents[2] / "docs" / "engine" / "methods.json"
_FEW: Final = 2
"""What more methods share is shown once, above them."""
_CODE: Final = re.compile(r"\.py\b(?!.*\b(PR|issue)\b)")
_ACCELERATORS: Final = {"nvidia": "NVIDIA: vLLM", "ascend": "vLLM-Ascend", "cpu": "CPU: vLLM"}


def page() -> str:
    """docs/methods.md."""
    examples = {
        name: yaml.safe_dump({"speculation": plain(each.example)}, sort_keys=False)
        for name, each in METHODS.items()
        if each.example
    }
    known = {"methods": METHODS.values(), "examples": examples, "under_load": UNDER_LOAD}
    facts = {"common": _common(), "own": _own, "cited": _cited, "stated": _stated}
    columns = [f"{name} {IMAGES[key]}" for key, name in _ACCELERATORS.items()] + ["K", *Workload]
    measured = data("methods")["sources"]["measured"]
    return render("methods.md", **known, **facts, columns=columns, rows=_rows(), measured=measured)


def _rows() -> Iterator[tuple[str, ...]]:
    tried = json.loads(_RUNS.read_text(encoding="utf-8"))["runs"]
    for name, each in METHODS.items():
        runs = [_engine(each, accelerator, "compared" in tried.get(name, {})) for accelerator in _ACCELERATORS]
        tokens = " / ".join(map(str, (each.tokens or {}).values()))
        speeds = [_band(each, workload) for workload in Workload]
        yield f"[{name}](#{name})", each.needs.value, *runs, tokens, *speeds


def _band(advice: MethodAdvice, workload: Workload) -> str:
    return str(advice.speedup.get(workload, "")).replace(" to ", "-")


def _engine(advice: MethodAdvice, accelerator: str, tried: bool) -> str:
    build = build_of(accelerator, None)
    release = release_for(advice, build.flavor)
    if release is None:
        return ""
    since = f"≥ {release.since}" if not release.until else f"{release.since}-{release.until}"
    if not runs_on(advice, build):
        return f"{since}, not in this image"
    return f"**{since}**" if accelerator == "cpu" and tried else since


def _facts(advice: MethodAdvice) -> Iterator[MethodFact]:
    yield from (*advice.needed, *advice.checks, *advice.caveats)


def _common() -> Iterator[tuple[MethodFact, str]]:
    """What three methods or more share, and which."""
    for fact in dict.fromkeys(fact for each in METHODS.values() for fact in _facts(each)):
        having = _having(fact)
        if len(having) > _FEW:
            others = [name for name in METHODS if name not in having]
            yield fact, ", ".join(having) if len(having) <= len(others) else f"all except {', '.join(others)}"


def _own(facts: Iterable[MethodFact]) -> list[MethodFact]:
    """Those that are not in the list of common facts."""
    return [fact for fact in facts if len(_having(fact)) <= _FEW]


def _having(fact: MethodFact) -> list[str]:
    return [name for name, each in METHODS.items() if fact in _facts(each)]


def _cited(fact: MethodFact) -> str:
    """The statement and its source, for statements with figures."""
    source = fact.source.replace(data("methods")["sources"]["measured"], "measured here")
    return _plain(fact) if _CODE.search(source) else f"{_plain(fact)} *({source})*"


def _stated(fact: MethodFact) -> str:
    """A statement about an engine. It has its source only if it was measured; `specdec explain` shows the others."""
    return _cited(fact) if "measured" in fact.source else _plain(fact)


def _plain(fact: MethodFact) -> str:
    return re.sub(r"(?<=\w\.)\*", r"\\*", fact.says)
