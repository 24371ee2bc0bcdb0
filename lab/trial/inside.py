"""Whether vLLM finds the project's plugins and loads them; the answer is one line of JSON, the last on standard output.

python3 -m lab.trial.inside
"""

import importlib
import importlib.metadata
import json
from typing import Any, Final

_GROUP: Final = "vllm.general_plugins"


def plugin() -> dict[str, Any]:
    """The plugins that the image registers, and those that vLLM loads."""
    entries = importlib.metadata.entry_points(group=_GROUP)
    ours = sorted(each.name for each in entries if each.value.startswith("specdec_runtime"))
    loaded = importlib.import_module("vllm.plugins").load_plugins_by_group(_GROUP)
    return {"found": ours, "loaded": sorted(set(loaded) & set(ours))}


if __name__ == "__main__":
    print(json.dumps(plugin()))
