"""Keys of --speculative-config that only older engines have."""

from types import MappingProxyType
from typing import Final

from specdec_command.importing.manifest import Lost
from specdec_engine.case import Json
from specdec_engine.tables import row_holds, table
from specdec_engine.version import Build

_WAYS: Final = MappingProxyType(
    {
        "disable_by_batch_size": "add rows with tokens 0 to spec.speculation.tokensByBatchSize",
        "disable_mqa_scorer": "remove it: engines since 0.11 have no such scorer",
        "acceptance_method": "see spec.speculation.rejection",
        "posterior_threshold": "see spec.speculation.rejection",
        "posterior_alpha": "see spec.speculation.rejection",
        "disable_logprobs": "remove it: engines since 0.11 return them",
        "speculative_token_tree": "remove it: the engine drafts one sequence",
    }
)
"""What to do instead. Keys of engines before 0.11 are in no table of `specdec_engine`."""


def without_ended_keys(speculation: Json | None, build: Build, lost: list[Lost]) -> Json | None:
    """The configuration without keys that ended, which are listed. Keys that no engine had stay: they are mistakes."""
    if speculation is None:
        return None
    known = table("fields")["fields"]
    kept = dict(speculation)
    for key in speculation:
        name = key.replace("-", "_")
        ended = "until" in known.get(name, ()) and not row_holds(known[name], build.vllm)
        if ended or (name in _WAYS and name not in known):
            last = f"; {known[name]['until']} was the last" if ended else ""
            field = f"--speculative-config ({key}: {kept.pop(key)})"
            why = f"vllm {build.vllm} does not have this key{last}"
            lost.append(Lost(field=field, why=why, way_out=_WAYS.get(name, "remove it")))
    return kept
