"""How a pod stops: a hook that lets its clients finish, then an engine that does, then force."""

from typing import Final

from specdec_operator.api.engine import Engine
from specdec_operator.engine.builds import build_of
from specdec_operator.engine.version import Version
from specdec_operator.serving.pods import ENGINE_PORT

GRACE: Final = 60
"""Seconds from the decision to stop a pod to its end by force."""
_ENOUGH: Final = GRACE - 10
DRAIN: Final = ("python3", "-m", "specdec_runtime", "drain", f"--port={ENGINE_PORT}", f"--timeout={_ENOUGH}")
"""The preStop hook in the runtime image: the old pod of a rollout answers what it was asked before it stops."""
_FLAG: Final = "--shutdown-timeout"
_SINCE: Final = Version(0, 18, 0)
"""vLLM PR 34730. An older engine drops what it was asked, and would not start with the flag."""


def flags(engine: Engine) -> tuple[str, ...]:
    """How long the engine goes on with what it was asked where no hook has waited; the user's own flag wins."""
    build = build_of(engine.accelerator.value, engine.version)
    named = any(each.partition("=")[0].replace("_", "-") == _FLAG for each in engine.args or ())
    return () if named or build.vllm < _SINCE else (f"{_FLAG}={_ENOUGH}",)
