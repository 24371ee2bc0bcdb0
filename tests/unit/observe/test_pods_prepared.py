"""Whether a Deployment shows that its runtime starts the engine by specdec_runtime."""

from typing import Any

import pytest

from specdec_operator.observe.pods import deployment_view

SERVE = ["python3", "-m", "specdec_runtime", "serve"]


@pytest.mark.parametrize(
    ("container", "prepared"),
    [
        ({"name": "kserve-container", "command": SERVE}, True),
        ({"name": "kserve-container", "command": ["bash", "-c"], "args": [f"exec {' '.join(SERVE)}"]}, True),
        ({"name": "kserve-container", "command": ["vllm", "serve"]}, False),
        ({"name": "kserve-container", "args": ["--middleware=specdec_runtime.facts.Facts"]}, False),
        ({"name": "kserve-container"}, False),
        ({"name": "proxy", "command": SERVE}, False),
    ],
)
def test_the_command_of_the_engines_container_shows_it(container: dict[str, Any], prepared: bool) -> None:
    """Flags that only the package understands do not count: they may be injected."""
    body = {"metadata": {}, "spec": {"template": {"spec": {"containers": [container]}}}}
    assert deployment_view(body).prepared is prepared
