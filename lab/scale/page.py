"""The page docs/scale.md, made of what `make bench-scale`, the soak and the runs with shards wrote."""

import json
import pathlib
from collections.abc import Mapping
from typing import Any, Final

from hack.machine import sentence
from hack.pages import render

from lab.scale.row import GOALS, GROWING

_FOLDER: Final = pathlib.Path(__file__).parents[2] / "docs" / "scale"


def page(folder: pathlib.Path = _FOLDER) -> str:
    """docs/scale.md: what many services take. Raises ValueError where the file holds no rows."""
    found = json.loads((folder / "scale.json").read_text(encoding="utf-8"))
    if not found["rows"]:
        raise ValueError(f"{folder / 'scale.json'} holds no rows: run `make bench-scale`")
    soak = json.loads((folder.parent / "soak" / "soak.json").read_text(encoding="utf-8"))
    ours = _compared_peers(found["beside_peers"]) if found["peers"] else None
    sharded = json.loads((folder / "sharded.json").read_text(encoding="utf-8"))
    kserve = json.loads((folder / "kserve.json").read_text(encoding="utf-8"))
    more = {
        "soak": soak,
        "kserve": kserve,
        "ours": ours,
        "goals": GOALS,
        "growing": GROWING,
        "sharded": sharded,
    }
    days = dict.fromkeys(sentence(each if "origin" in each else sharded) for each in sharded["rows"])
    made = {
        "made": sentence(found),
        "soak_made": sentence(soak),
        "kserve_made": sentence(kserve),
        "sharded_made": " ".join(days),
    }
    return render("scale.md", **found, **more, **made)


def _compared_peers(ours: Mapping[str, Any]) -> dict[str, Any]:
    """Our own row in the words of the other operators' rows."""
    due = ours["services"] / 15
    reads = {"due_per_second": due, "made_per_second": due * (1 - ours["reads_missed_share"])}
    return {**ours, "peer": "specdec-operator", **reads, "writes_per_minute": ours["idle_writes_per_minute"]}
