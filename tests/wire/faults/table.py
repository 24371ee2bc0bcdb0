"""The text of what a fault test tests: the rows of docs/reliability.md are generated from these."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, TypeVar

_Test = TypeVar("_Test", bound=Callable[..., Any])


class Part(StrEnum):
    """What is at fault; the order is that of the page."""

    OPERATOR = "The operator's process"
    API_SERVER = "The API server and etcd"
    CLOCK = "Clocks"
    KSERVE = "KServe"
    OBJECTS = "Objects changed by others"
    PODS = "Pods"
    CLUSTER = "Quotas, policies, drains and autoscalers"
    METRICS = "Wrong metrics"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One row. when: what happens; then: what the operator does, as the test asserts."""

    part: Part
    when: str
    then: str
    test: str


FAULTS: Final[list[Fault]] = []


def fault(*, part: Part, when: str, then: str) -> Callable[[_Test], _Test]:
    """Makes a test a row of the page."""

    def noted(test: _Test) -> _Test:
        name = f"{test.__module__.replace('.', '/')}.py::{test.__name__}"
        FAULTS.append(Fault(part=part, when=when, then=then, test=name))
        return test

    return noted
