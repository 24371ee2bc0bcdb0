"""The page docs/staging.md: every mix of artifacts by version of KServe, judged by the operator's own code.

TRIED is the one place that says which mixes a test on a real node has shown to draft.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from types import MappingProxyType
from typing import Any, Final

from hack.pages import render
from specdec_operator.engine.rule import Severity, rules_in
from specdec_operator.staging import rules
from specdec_operator.staging.compatibility import KSERVE
from specdec_operator.staging.kserve import NEWEST, KServe, Version, shown
from specdec_operator.staging.layout import lay_out
from specdec_operator.staging.rules import LACKS

_LAYOUTS: Final = "tests/node/test_layouts.py"
_REMOTE: Final = "hf s3 gs https"
_INSIDE: Final = "a folder of the target's artifact"
_ONCE: Final = "PersistentVolumeClaim"
TRIED: Final[Mapping[tuple[str, str, str], str]] = MappingProxyType(
    {
        ("pvc", "none", "Auto"): "tests/node/test_story.py::test_ngram_needs_no_draft_and_drafts_on_repetition",
        ("pvc", "the same PVC", "Auto"): "tests/node/test_story.py::test_serve_watch_roll_back",
        ("pvc", _REMOTE, "Auto"): f"{_LAYOUTS}::test_target_from_a_claim_and_draft_from_s3",
        (_REMOTE, _REMOTE, "Auto"): f"{_LAYOUTS}::test_target_and_draft_from_s3",
        ("oci", "oci", "Auto"): f"{_LAYOUTS}::test_target_and_draft_from_two_modelcars",
        ("oci", _INSIDE, "Auto"): f"{_LAYOUTS}::test_target_and_draft_from_one_modelcar",
        (_REMOTE, _REMOTE, _ONCE): f"{_LAYOUTS}::test_what_is_in_the_operators_claim_is_downloaded_once",
    }
)
"""Target, draft and mode of a row -> the test on a real node that ends with a draft that is accepted."""
TRIED_ON: Final[Version] = max(KSERVE.run)
"""The KServe of those tests: its stand-in, or the real one where KSERVE_MANAGER names it."""

VERSIONS: Final[tuple[Version, ...]] = tuple((0, minor) for minor in range(KSERVE.oldest[1], NEWEST[1] + 1))
_TARGETS: Final = {
    _REMOTE: {"uri": "s3://bucket/target"},
    "pvc": {"uri": "pvc://models/target"},
    "oci": {"uri": "oci://registry.example/target:1"},
    "oci+native": {"uri": "oci+native://registry.example/target:1"},
}
_DRAFTS: Final[Mapping[str, Mapping[str, str]]] = {
    "none": {},
    _INSIDE: {"path": "draft"},
    _REMOTE: {"uri": "s3://bucket/draft"},
    "the same PVC": {"uri": "pvc://models/draft"},
    "pvc": {"uri": "pvc://drafts/draft"},
    "oci": {"uri": "oci://registry.example/draft:1"},
    "oci+native": {"uri": "oci+native://registry.example/draft:1"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One mix, and its spec."""

    target: str
    draft: str
    mode: str
    spec: Mapping[str, Any]

    @property
    def tried(self) -> str:
        """The test that shows it, or nothing."""
        return TRIED.get((self.target, self.draft, self.mode), "")


def rows() -> Iterator[Row]:
    """Every mix that is not refused whatever the KServe."""
    for mode, staging in (("Auto", {}), (_ONCE, {"mode": _ONCE, "claim": {"storage": "1Gi"}})):
        for target, model in _TARGETS.items():
            for draft, lies in _DRAFTS.items():
                images = any(each.startswith("oci") for each in (target, draft))
                remote = _REMOTE in (target, draft)
                if (draft == "the same PVC" and target != "pvc") or (staging and (images or not remote)):
                    continue
                inside = {"path": "target"} if draft == _INSIDE else {}
                spec = {"model": {**model, **inside}, "speculation": {"draft": lies}, "staging": staging}
                yield Row(target=target, draft=draft, mode=mode, spec=spec)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A mix on one KServe: whether it is refused, and the numbers of what is said about it."""

    refused: bool
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Mixes of one target that fare alike on every KServe. cells: by version, as in VERSIONS."""

    target: str
    mode: str
    cells: tuple[Cell, ...]
    rows: tuple[Row, ...]

    @property
    def drafts(self) -> str:
        """Where the draft may lie."""
        return "; ".join(row.draft for row in self.rows)

    @property
    def served(self) -> str:
        """The versions that serve them."""
        return "; ".join(_ranges(self.cells, refused=False)) or "none"

    @property
    def refused(self) -> str:
        """The versions that are refused."""
        return "; ".join(_ranges(self.cells, refused=True))

    @property
    def tried(self) -> str:
        """Drafts of the group with which a test on a node ends with accepted tokens."""
        return "; ".join(row.draft for row in self.rows if row.tried)


def groups() -> tuple[tuple[Group, ...], tuple[str, ...]]:
    """The rows, put together where they fare alike, and what is said about them."""
    reasons: dict[str, int] = {}
    found: dict[tuple[str, str, tuple[Cell, ...]], list[Row]] = {}
    for row in rows():
        cells = tuple(_cell(row, each, reasons) for each in VERSIONS)
        found.setdefault((row.target, row.mode, cells), []).append(row)
    made = (Group(target=at, mode=mode, cells=cells, rows=tuple(each)) for (at, mode, cells), each in found.items())
    return tuple(made), tuple(reasons)


def page() -> str:
    """The page as Markdown."""
    table, reasons = groups()
    return render(
        "staging.md",
        oldest=shown(VERSIONS[0]),
        newest=shown(VERSIONS[-1]),
        groups=table,
        reasons=reasons,
        tried=[row for row in rows() if row.tried],
        tried_on=shown(TRIED_ON),
        rules=rules_in(rules),
        lacks=LACKS,
    )


def _cell(row: Row, version: Version, reasons: dict[str, int]) -> Cell:
    """How the mix fares; a reason that is new is added to them."""
    kserve = KServe(version=version, kubernetes=(1, 35), oci_mode="modelcar")
    findings = lay_out(row.spec, name="NAME", kserve=kserve).findings
    refused = [each for each in findings if each.rule.severity is Severity.REFUSED]
    said = refused or [each for each in findings if each.rule.severity is Severity.WARNED]
    texts = [each.message.removeprefix(f"KServe {shown(version)} ") for each in said]
    numbers = dict.fromkeys(reasons.setdefault(text, len(reasons) + 1) for text in texts)
    return Cell(refused=bool(refused), numbers=tuple(sorted(numbers)))


def _ranges(cells: tuple[Cell, ...], *, refused: bool) -> Iterator[str]:
    """Neighbouring versions with the same cell as `0.16 to 0.18 (3)`."""
    for cell, run in groupby(zip(cells, VERSIONS, strict=True), key=itemgetter(0)):
        versions = [version for _, version in run]
        if cell.refused is refused:
            first, last = shown(versions[0]), shown(versions[-1])
            span = first if first == last else f"{first} to {last}"
            yield " ".join([span, *(f"({number})" for number in cell.numbers)])
