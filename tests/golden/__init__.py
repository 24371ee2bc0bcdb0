"""Golden files: what is rendered, as people read it. `SPECDEC_GOLDEN=write pytest tests/unit` rewrites them."""

import os
import pathlib
from typing import Any

import yaml

_HERE = pathlib.Path(__file__).parent


def expected(name: str, made: dict[str, Any]) -> dict[str, Any]:
    """The document that `made` must equal; written from `made` first where that is asked for."""
    path = _HERE / f"{name}.yaml"
    if os.environ.get("SPECDEC_GOLDEN") == "write":
        path.write_text(yaml.safe_dump(made, sort_keys=False, width=110))
    kept: dict[str, Any] = yaml.safe_load(path.read_text())
    return kept


def names() -> list[str]:
    """The names of all golden files."""
    return sorted(path.stem for path in _HERE.glob("*.yaml"))
