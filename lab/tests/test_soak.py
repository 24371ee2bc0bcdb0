"""What the soak takes for a fault: its invariants, without a cluster."""

import pytest

from lab.soak.samples import Sample, growth, series_of
from lab.soak.service import SoakService

ASKED, BAD = 1000.0, 1100.0
DECIDED = BAD + 30.0


def service(**fields: object) -> SoakService:
    """One that is there, whose draft goes bad and is rolled back."""
    made = SoakService(number=1, there=True, asks=[ASKED], decided={DECIDED})
    made.spoil(BAD)
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def test_a_rollback_of_a_bad_draft_that_is_decided_once_is_right() -> None:
    """And so is one more, when speculation was asked for again meanwhile."""
    assert service().faults() == []
    assert service(decided={DECIDED, DECIDED + 200}, asks=[ASKED, DECIDED + 100]).faults() == []


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"decided": {DECIDED, DECIDED + 100}}, "rolled back again"),
        ({"spoiled": [(BAD + 500, BAD + 600)], "bad": False}, "with a good draft"),
        ({"decided": set()}, "was never seen"),
    ],
    ids=["twice", "without a reason", "never"],
)
def test_other_decisions_are_reported(fields: dict[str, object], said: str) -> None:
    """Each invariant can fail."""
    (fault,) = service(**fields).faults()
    assert said in fault


@pytest.mark.parametrize(
    ("fields", "wanted", "would"),
    [
        ({}, "RolledBack", False),
        ({"bad": False}, "Watching", False),
        ({"held": True}, "Watching", True),
        ({"number": 25}, "Watching", False),
    ],
    ids=["bad", "good", "held", "its pod hangs"],
)
def test_what_a_service_must_come_to(fields: dict[str, object], wanted: str, would: bool) -> None:
    """By its draft, by whether it is held, and by whether there is any evidence."""
    made = service(**fields)
    assert (made.wanted, made.would) == (wanted, would)


def test_series_are_counted_by_service() -> None:
    """Those of the process do not belong to a service."""
    page = 'specdec_loops 2.0\nspecdec_phase{name="a",namespace="f",phase="x"} 1.0\n'
    page += 'specdec_stalled{name="a",namespace="f"} 0.0\nspecdec_stalled{namespace="f",name="b"} 0.0\n'
    assert series_of(page) == {"a": 2, "b": 1}


def test_memory_grows_by_the_slope_of_the_second_half() -> None:
    """What a start takes is not a leak."""
    rest = {"cpu": 0.0, "files": 0, "sockets": 0, "tasks": 0, "loops": 0, "most_series": 0, "names": frozenset[str]()}
    samples = [
        Sample(at=at, rss_mb=20.0 * at if at < 5 else 100.0 + at / 360, **rest)  # type: ignore[arg-type]
        for at in range(10)
    ]
    assert growth(samples) == pytest.approx(10.0)
