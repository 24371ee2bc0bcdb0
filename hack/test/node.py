"""The local cluster as the tests use it: made once, brought into the state that a part needs, left as it was found."""

import sys
import threading
from typing import Final

from hack import install
from hack.cluster import lifecycle, paths, record
from hack.cluster.errors import ClusterError
from hack.test import run
from hack.test.parts import PartNeeds, SuitePart
from hack.test.run import PartResult

_PREPARE: Final = (
    ("local cluster", "hack.cluster", "up"),
    ("images", "hack.images", "all"),
    ("images of the tests", "hack.images", "tests"),
    ("tiny models", "hack.models"),
)
_THEIRS: Final = "not run: the local cluster has an operator already; `make cluster-down` removes both"


def why_none() -> str:
    """Why this machine cannot have a node; empty where it can."""
    try:
        lifecycle.pick()
    except ClusterError as error:
        return f"not run: {error}"
    return ""


class SharedCluster:
    """The local cluster while tests use it.

    made: what became of its preparations. had_operator: whether it had an operator before.
    """

    def __init__(self) -> None:
        self._was_up = record.read(paths.layout()) is not None
        self._prepared = threading.Event()
        self.had_operator = False
        self._state = PartNeeds.NOTHING
        self.made: list[PartResult] = []

    def make(self) -> None:
        """The cluster, its images and models; afterwards it is there without an operator, unless a step failed."""
        try:
            if all(self._step(name, *module) for name, *module in _PREPARE):
                self.had_operator = self._was_up and install.present()
                self._state = PartNeeds.CLUSTER
        finally:
            self._prepared.set()

    def tests(self, part: SuitePart, seconds: float | None = None, *, aside: bool = False) -> PartResult:
        """One part, once `make` has ended and the cluster is as the part needs it. aside: while another part runs.

        An operator that was there before stays, with its services: a part that needs a cluster without one is not run.
        """
        self._prepared.wait()
        if self.had_operator and part.needs is PartNeeds.CLUSTER:
            return PartResult(name=part.name, proves=part.proves, lost=_THEIRS)
        if not self._as(part.needs):
            lost = "FAILED: not run, since what it needs could not be made"
            return PartResult(name=part.name, proves=part.proves, failed=1, lost=lost)
        return run.part_of_tests(part, seconds, aside=aside)

    def leave(self) -> None:
        """Take down what was not there before: the cluster, or the operator on it."""
        if not self._was_up and self.made:
            self._down()
        elif self._state is PartNeeds.OPERATOR and not self.had_operator:
            run.call((sys.executable, "-m", "hack.install", "remove"))

    def _as(self, needs: PartNeeds) -> bool:
        if any(each.failed for each in self.made):
            return False
        if needs is PartNeeds.IMAGES:
            return True
        if needs is PartNeeds.CLUSTER and self._state is PartNeeds.OPERATOR:
            self._state = PartNeeds.CLUSTER if self._without_operator() else PartNeeds.NOTHING
        if needs is PartNeeds.OPERATOR and self._state is PartNeeds.CLUSTER and self._step("operator", "hack.install"):
            self._state = PartNeeds.OPERATOR
        return self._state is needs

    def _without_operator(self) -> bool:
        if self._was_up:
            return self._step("operator removed", "hack.install", "remove")
        self._down()  # an operator goes with its cluster
        return self._step("local cluster", "hack.cluster", "up")

    def _step(self, name: str, *module: str) -> bool:
        self.made.append(run.prepared(name, *module))
        return not self.made[-1].failed

    @staticmethod
    def _down() -> None:
        run.call((sys.executable, "-m", "hack.cluster", "down"))
