"""The page docs/staging.md: every mix of artifacts by version of KServe, as the real ones were recorded.

Versions that could not be asked are judged by the operator's own code.

Only TRIED lists the mixes that a test on a real node has shown to draft.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from hack.pages import render

from lab.staging.recorded import Key, Run, recording, runs, said
from specdec_engine.rule import Finding, Severity
from specdec_operator.staging.compatibility import KSERVE
from specdec_operator.staging.kserve import NEWEST, KServe, Version, shown
from specdec_operator.staging.layout import lay_out

_LAYOUTS: Final = "tests/node/test_layouts.py"
_REMOTE: Final = "hf s3 gs https"
_INSIDE: Final = "a folder of the target's artifact"
_ONCE: Final = "PersistentVolumeClaim"
TRIED: Final[Mapping[Key, str]] = MappingProxyType(
    {
        ("pvc", "none", "Auto"): "tests/node/test_story.py::test_ngram_needs_no_draft_and_drafts_on_repetition",
        ("pvc", "the same PVC", "Auto"): "tests/node/test_story.py::test_serve_watch_roll_back",
        ("pvc", _REMOTE, "Auto"): f"{_LAYOUTS}::test_target_from_a_pvc_and_draft_from_s3",
        (_REMOTE, _REMOTE, "Auto"): f"{_LAYOUTS}::test_target_and_draft_from_s3",
        ("oci", "oci", "Auto"): f"{_LAYOUTS}::test_target_and_draft_from_two_modelcars",
        ("oci", _INSIDE, "Auto"): f"{_LAYOUTS}::test_target_and_draft_from_one_modelcar",
        (_REMOTE, _REMOTE, _ONCE): f"{_LAYOUTS}::test_the_content_of_the_operators_pvc_is_downloaded_once",
    }
)
"""Target, draft and mode of a row -> the test on a real node that ends with a draft that is accepted."""
TRIED_ON: Final[Version] = max(KSERVE.run)
"""The KServe of those tests."""

VERSIONS: Final[tuple[Version, ...]] = tuple((0, minor) for minor in range(KSERVE.oldest[1], NEWEST[1] + 1))
_TARGETS: Final[Mapping[str, Mapping[str, str]]] = {
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

_LORA: Final = {
    _REMOTE: {"uri": "s3://bucket/lora"},
    "pvc": {"uri": "pvc://loras/lora"},
    "oci": {"uri": "oci://registry.example/lora:1"},
}
_IMAGE: Final = "registry.example/vllm:1"
_ADAPTERS: Final = (
    ((_REMOTE, _REMOTE), "pvc"),
    ((_REMOTE, "pvc"), _REMOTE),
    ((_REMOTE, _REMOTE), "oci"),
    (("pvc", "pvc"), "pvc"),
)
"""Mixes of three artifacts: two of them may be downloaded into one volume, at the folder above both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One mix, and its spec."""

    target: str
    draft: str
    mode: str
    spec: Mapping[str, Any]

    @property
    def key(self) -> Key:
        """By which it is found in the recording."""
        return self.target, self.draft, self.mode

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
    for (target, draft), adapter in _ADAPTERS:
        three: dict[str, Any] = {**_TARGETS[target], "adapters": [{"name": "lora", **_LORA[adapter]}]}
        spec = {"model": three, "speculation": {"draft": _DRAFTS[draft]}, "staging": {}}
        yield Row(target=target, draft=f"{draft} + LoRA adapter {adapter}", mode="Auto", spec=spec)
    both = {"model": _TARGETS[_REMOTE], "speculation": {"draft": _DRAFTS[_REMOTE]}}
    spec = {**both, "staging": {}, "engine": {"image": _IMAGE}}
    yield Row(target=_REMOTE, draft=f"{_REMOTE}, in an image without specdec_runtime", mode="Auto", spec=spec)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A mix on one KServe: its result, and the numbers of the reasons for it."""

    fares: str
    numbers: tuple[int, ...] = ()

    def __str__(self) -> str:
        """As in the table."""
        return " ".join(f"({number})" for number in self.numbers) or self.fares


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Mixes of one target with the same result on every KServe. cells: one for each column."""

    target: str
    mode: str
    cells: tuple[Cell, ...]
    rows: tuple[Row, ...]

    @property
    def everywhere(self) -> bool:
        """Whether every version serves them, by the form that the operator renders for the newest."""
        return {cell.fares for cell in self.cells} == {"served"}

    @property
    def last_two_alike(self) -> bool:
        """Whether the two newest columns agree."""
        return self.cells[-2] == self.cells[-1]

    @property
    def drafts(self) -> str:
        """Where the draft may lie."""
        return "; ".join(row.draft for row in self.rows)

    @property
    def tried(self) -> str:
        """Drafts of the group with which a test on a node ends with accepted tokens."""
        return "; ".join(row.draft for row in self.rows if row.tried)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A KServe of the table. runs: what was recorded; the second, with the patch, differs only in its messages. Nothing
    was recorded of a version that could not be asked.
    """

    version: Version
    runs: tuple[Run, ...]

    @property
    def title(self) -> str:
        """Its head."""
        return self.runs[0].title if self.runs else f"{shown(self.version)} (by documentation)"


def columns(found: Sequence[Run]) -> tuple[Column, ...]:
    """Every supported version; a run with the patch has a column of its own where mixes fare otherwise."""
    return tuple(each for version in VERSIONS for each in _columns(version, found))


def _columns(version: Version, found: Sequence[Run]) -> list[Column]:
    mine = [each for each in found if each.version == version]
    fares = [{key: row["outcome"] for key, row in each.rows.items()} for each in mine]
    if len(mine) == 2 and fares[0] != fares[1]:
        return [Column(version=version, runs=(each,)) for each in mine]
    return [Column(version=version, runs=tuple(mine))]


def groups(found: Sequence[Run]) -> tuple[tuple[Group, ...], tuple[str, ...]]:
    """The rows, grouped by equal results, with the notes about them."""
    reasons: dict[str, int] = {}
    made: dict[tuple[str, str, tuple[Cell, ...]], list[Row]] = {}
    for row in rows():
        cells = tuple(_cell(row, each, reasons) for each in columns(found))
        made.setdefault((row.target, row.mode, cells), []).append(row)
    return tuple(
        Group(target=at, mode=mode, cells=cells, rows=tuple(each)) for (at, mode, cells), each in made.items()
    ), tuple(reasons)


def page() -> str:
    """The page as Markdown."""
    whole = recording()
    found = runs(whole)
    table, reasons = groups(found)
    return render(
        "staging.md",
        oldest=shown(VERSIONS[0]),
        newest=shown(VERSIONS[-1]),
        columns=columns(found),
        groups=table,
        reasons=reasons,
        asked=", ".join(dict.fromkeys(each.kserve for each in found)),
        services=found[0].services,
        kubernetes=whole["kubernetes"],
        at=whole["origin"]["at"],
        tried_on=shown(TRIED_ON),
    )


def _cell(row: Row, column: Column, reasons: dict[str, int]) -> Cell:
    """How the mix fares; a reason that is new is added to them."""
    if not column.runs:
        return _documented(row, column.version, reasons)
    recorded = [each.rows[row.key] for each in column.runs]
    first = recorded[0]
    if first["outcome"] != "refused":
        lone = first["outcome"] == "served" and first["form"] == "storageUri"
        return Cell(fares="storageUri" if lone else first["outcome"])
    return Cell(fares="refused", numbers=_numbers([text for each in recorded for text in said(each)], reasons))


def _documented(row: Row, version: Version, reasons: dict[str, int]) -> Cell:
    kserve = KServe(version=version, kubernetes=(1, 35), oci_mode="modelcar")
    refused = [each for each in lay_out(row.spec, name="NAME", kserve=kserve).findings if _refuses(each)]
    texts = [f"By documentation: {each.message.partition('; ')[0]}" for each in refused]
    return Cell(fares="refused" if refused else "served", numbers=_numbers(texts, reasons))


def _refuses(finding: Finding) -> bool:
    return finding.rule.severity is Severity.REFUSED


def _numbers(texts: Sequence[str], reasons: dict[str, int]) -> tuple[int, ...]:
    return tuple(sorted({reasons.setdefault(text, len(reasons) + 1) for text in texts}))
