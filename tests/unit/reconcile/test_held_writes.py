"""A service that may not be changed and has a bad draft reports it once, and not at each window."""

from typing import Any

import pytest
from tests.unit.stage import watching


@pytest.mark.parametrize("asked", [{"annotations": {"specdec.io/hold": "yes"}}, {"guard": {"mode": "Observe"}}])
async def test_what_would_be_done_is_written_once(asked: dict[str, Any]) -> None:
    """The failing windows count round and round; nothing is decided by that."""
    stage, engine = await watching(**asked)
    engine.acceptance = 0.0
    await stage.run(120.0)
    assert stage.cluster.status["guard"]["would"]["action"]
    calls = len(stage.cluster.calls)
    await stage.run(600.0)
    assert stage.cluster.calls[calls:] == []
