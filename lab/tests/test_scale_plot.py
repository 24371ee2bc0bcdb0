"""The scale benchmark's picture shows what its file holds, and nothing that it does not."""

import pathlib
from typing import Any

import pytest

from lab.scale.peers.row import PeerRow
from lab.scale.plot import PANELS, draw, goal_of, name_of, total
from lab.scale.row import ScaleRow


def _row(services: int) -> dict[str, Any]:
    return dict.fromkeys(ScaleRow.__dataclass_fields__, services / 100) | {"services": services}


def _peer(made: float) -> dict[str, Any]:
    numbers = dict.fromkeys(PeerRow.__dataclass_fields__, 1.0)
    return numbers | {"peer": "Another", "services": 1000, "due_per_second": 60.0, "made_per_second": made}


FOUND = {"rows": [_row(1000), _row(100)], "peers": [_peer(60.0), _peer(30.0)]}


def test_every_panel_is_of_columns_that_a_run_writes() -> None:
    """A column that is renamed is renamed in the picture too."""
    for panel in PANELS:
        assert total(_row(100), panel) == len(panel.columns)
        assert not panel.tail or panel.tail in ScaleRow.__dataclass_fields__


def test_a_peer_is_drawn_where_it_has_the_numbers() -> None:
    """The operator and its API server are one cost, and a peer has no change of an InferenceService."""
    assert [total(_peer(60.0), panel) for panel in PANELS] == [1.0, 2.0, 1.0, None, None, None]


def test_the_goals_are_those_of_the_benchmark() -> None:
    """The goal of changes is about the slow ones, and the operator with its API server has none."""
    found = [goal.column if (goal := goal_of(panel)) else None for panel in PANELS]
    assert found == ["cpu_cores", None, "rss_mb", "change_p95_seconds", "sweep_seconds", "restart_seconds"]


@pytest.mark.parametrize(("made", "said"), [(60.0, "Another"), (59.9, "Another"), (30.0, "50 % of due reads made")])
def test_a_peer_that_did_not_do_its_work_is_not_shown_as_cheap(made: float, said: str) -> None:
    """Reads that were due and not made are shown next to its name."""
    assert said in name_of(_peer(made))
    assert ("%" in name_of(_peer(made))) is ("%" in said)


def test_an_equal_file_makes_an_equal_picture(tmp_path: pathlib.Path) -> None:
    """Nothing of the day or of chance is in it; rows may come in any order."""
    first, second, bitmap = (tmp_path / name for name in ("first.svg", "second.svg", "third.png"))
    draw(FOUND, first, bitmap)
    draw({**FOUND, "rows": FOUND["rows"][::-1]}, second)
    assert first.read_bytes() == second.read_bytes()
    assert bitmap.stat().st_size > 10_000
    draw({"rows": FOUND["rows"]}, second)
    assert first.read_bytes() != second.read_bytes(), "the peers are not drawn"
