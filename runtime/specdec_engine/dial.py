"""In which engines the number of draft tokens can be changed while they run, and how, with the evidence. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from specdec_engine.model_runner import Runner
from specdec_engine.tables import cell_words, row_holds, table
from specdec_engine.version import Flavor, Version

PARALLEL: Final = "parallel_drafting"


class NoDialError(Exception):
    """An engine without a dial; the message is the reason."""


class DialOff(StrEnum):
    """What happens to the drafter while nothing is drafted."""

    SKIPPED = "skipped"
    IN_STEP = "in step"


class DialEvidence(StrEnum):
    """How it is known."""

    RUN = "run"
    CODE = "code"


@dataclass(frozen=True, kw_only=True, slots=True)
class DialCase:
    """An engine as it runs. second_runner: whether Model Runner V2 runs it. pipeline, data: sizes of parallelism."""

    flavor: Flavor
    version: Version
    second_runner: bool
    method: str
    parallel_drafting: bool = False
    pipeline: int = 1
    data: int = 1

    @property
    def runner(self) -> Runner:
        """The model runner by its name."""
        return Runner.V2 if self.second_runner else Runner.V1


@dataclass(frozen=True, kw_only=True, slots=True)
class DialCell:
    """How an engine is dialled. cut: whether it drafts all tokens, and its scheduler cuts them."""

    off: DialOff
    cut: bool
    evidence: DialEvidence


def unknown(flavor: Flavor, version: Version) -> str | None:
    """Why no engine of a version has a dial; None if some have."""
    if _rows(flavor, version):
        return None
    return f"version {version} of {flavor} is not in the table"


def cell(case: DialCase) -> DialCell:
    """How an engine is dialled. Raises NoDialError if it has no dial."""
    if why := unknown(case.flavor, case.version):
        raise NoDialError(why)
    if case.data > 1:
        raise NoDialError("data parallelism: its engines must draft in step")
    if case.pipeline > 1:
        raise NoDialError("pipeline parallelism: it was not tried")
    named = PARALLEL if case.parallel_drafting and case.method not in ("dflash", "dspark") else case.method
    rows = [each for each in _rows(case.flavor, case.version) if each["runner"] == case.runner]
    for row in rows:
        if named in cell_words(row["methods"]):
            return DialCell(off=DialOff(row["off"]), cut=bool(row["cut"]), evidence=DialEvidence(row["evidence"]))
    raise NoDialError(f"{named} with {case.flavor} {case.version} and Model Runner {case.runner} is not in the table")


def _rows(flavor: Flavor, version: Version) -> list[Mapping[str, Any]]:
    rows: list[Mapping[str, Any]] = table("dial")["rows"]
    return [each for each in rows if each["flavor"] == flavor and row_holds(each, version)]
