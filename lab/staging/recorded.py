"""docs/staging/matrix.json: what each real KServe made of every mix, as `python -m lab.staging.matrix` recorded it."""

import json
import pathlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from specdec_operator.staging.kserve import Version, shown

FILE: Final = pathlib.Path(__file__).parents[2] / "docs" / "staging" / "matrix.json"
_AGREES: Final = ("served", "refused")
_ALONE: Final = "refused by the operator alone"
BY_THE_DOWNLOAD: Final = "git"
"""KServe hands the URI to its download container, whatever it is; that of 0.16 takes a git repository for a file."""
Key = tuple[str, str, str]
_SHORT: Final = re.compile(r"; |: \[?spec\.")
"""What follows is advice, or the names of fields: matrix.json has the whole text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One KServe that was asked. patched: with supportsMultiModelDownload set by hand. rows: by target, draft, mode."""

    kserve: str
    patched: bool
    detected: Mapping[str, Any]
    services: int
    keda: str
    rows: Mapping[Key, Mapping[str, Any]]
    behaviours: Mapping[str, str]

    @property
    def version(self) -> Version:
        """Such as (0, 20)."""
        major, minor, _ = self.kserve.split(".")
        return int(major), int(minor)

    @property
    def title(self) -> str:
        """The head of its column."""
        return f"{shown(self.version)}{', patched' if self.patched else ''}"


def recording() -> dict[str, Any]:
    """The whole file."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def runs(found: Mapping[str, Any]) -> tuple[Run, ...]:
    """The runs of a recording, in the order of the versions, as installed before patched."""
    return tuple(_run(each) for each in found["runs"])


def _run(each: Mapping[str, Any]) -> Run:
    return Run(
        kserve=each["kserve"],
        patched=each["patched"],
        detected=each["detected"],
        services=each["services"],
        keda=each.get("keda", ""),
        rows={(row["target"], row["draft"], row["mode"]): row for row in each["rows"]},
        behaviours=each.get("behaviours", {}),
    )


def faults(run: Run) -> Iterator[str]:
    """Disagreements of the operator's rules and this KServe: a needless refusal, or a model that does not arrive."""
    for key, row in run.rows.items():
        for scheme, found in {"": row, **row.get("schemes", {})}.items():
            known = scheme == BY_THE_DOWNLOAD and found["outcome"] == _ALONE
            if found["outcome"] not in _AGREES and not known:
                yield f"KServe {run.title}: {', '.join(key)} {scheme}: {found['outcome']} {found['rules']}"


def said(row: Mapping[str, Any]) -> list[str]:
    """Why a mix is refused on a KServe: what became of the forms that the operator does not apply."""
    return list(dict.fromkeys(_said(form, each) for form, each in row["forms"].items() if each["outcome"] != "served"))


def _said(form: str, answer: Mapping[str, Any]) -> str:
    if answer["words"]:
        return f"{answer['by']} refuses `{form}`: `{_SHORT.split(answer['words'])[0]}`"
    lost = str(answer["outcome"]).removeprefix("made without ").replace("adapter-0", "adapter")
    return f"With `{form}` KServe makes the pod without an error, and without {lost}"
