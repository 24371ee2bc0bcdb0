"""specdec_operator.render.stopping: what an engine is told about its end."""

from typing import Any

import pytest
from tests.unit.builders import make_spec

from specdec_operator.render.inference_service import stopping_flags


@pytest.mark.parametrize(
    ("engine", "told"),
    [
        ({"version": "0.17.0"}, ()),
        ({"version": "0.18.0"}, ("--shutdown-timeout=50",)),
        ({}, ("--shutdown-timeout=50",)),
        ({"accelerator": "ascend", "version": "0.17.0"}, ()),
        ({"args": ["--shutdown-timeout=5"]}, ()),
        ({"args": ["--shutdown_timeout", "5"]}, ()),
        ({"args": ["--shutdown-timeouts=5"]}, ("--shutdown-timeout=50",)),
    ],
)
def test_an_engine_that_can_finish_what_it_was_asked_is_told_for_how_long(
    engine: dict[str, Any], told: tuple[str, ...]
) -> None:
    """vLLM has the flag since 0.18; an older one would not start with it. Who writes it has their own way."""
    assert stopping_flags(make_spec(engine=engine).engine) == told
