"""A short soak: `python -m lab.soak` is the long one."""

import pathlib

from lab.soak.run import soak


async def test_two_minutes_of_churn_leave_nothing_behind(tmp_path: pathlib.Path) -> None:
    """No task, file, series, object or error more than before; every phase as it must be; every rollback once."""
    found = await soak(20, 120.0, tmp_path)
    assert found.wrong == []
    assert found.numbers["rollbacks"] > 0, found.done
