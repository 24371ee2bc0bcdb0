"""The engine that a spec asks for."""

from specdec_engine import version as engine_version
from specdec_engine.version import Build
from specdec_operator.errors import Invalid


def build_of(accelerator: str, version: str | None) -> Build:
    """The engine for `spec.engine.accelerator` and `.version`. Raises Invalid if `version` is not a version."""
    try:
        return engine_version.build_of(accelerator, version)
    except ValueError as error:
        raise Invalid("spec.engine.version", version, str(error)) from error
