"""Which Kubernetes, KServe and vLLM this release is for: data/compatibility.json, as values."""

import json
import pathlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from specdec_engine.version import NEWEST, OLDEST, MajorMinor, major_minor, minor_text

_FILE: Final = pathlib.Path(__file__).parent / "data" / "compatibility.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Supported:
    """The releases of one part.

    oldest, newest: the first that is fit, and the last that was read; newest is None where none is known to be unfit.
    why: why none is older. run: which were run by this project, and as what. older, newer: messages about others.
    """

    name: str
    oldest: MajorMinor
    newest: MajorMinor | None
    why: str
    run: Mapping[MajorMinor, str]
    older: str
    newer: str


def _version(text: str) -> MajorMinor:
    found = major_minor(text)
    if found is None:
        raise ValueError(f"{_FILE}: {text!r} is not a version; write it as 1.29")
    return found


def _supported(row: Mapping[str, Any]) -> Supported:
    versions = {
        "oldest": _version(row["oldest"]),
        "newest": _version(row["newest"]) if row["newest"] else None,
        "run": {_version(each): how for each, how in row["run"].items()},
    }
    return Supported(**{**row, **versions})


_ROWS: Final[Mapping[str, Any]] = json.loads(_FILE.read_text(encoding="utf-8"))
KUBERNETES: Final = _supported(_ROWS["kubernetes"])
KSERVE: Final = _supported(_ROWS["kserve"])
VLLM: Final = _supported(_ROWS["vllm"] | {"oldest": minor_text(OLDEST), "newest": minor_text(NEWEST)})
MATRIX: Final = (KUBERNETES, KSERVE, VLLM)
