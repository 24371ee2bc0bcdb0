"""The samples as cases for their engines: the command line that each renders, and models of the sizes they name."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from specdec_command.cli.render import rendering
from specdec_operator.errors import Invalid
from specdec_operator.staging.layout import ARTIFACTS, SINGLE_PATH

PREFIX: Final = "sample-"
"""What the id of a case begins with."""
KINDS: Final = Path(__file__).parents[2] / "tests" / "data" / "verdicts" / "sample-kinds.json"
"""The configurations of the models that samples name."""
SAMPLES: Final = Path(__file__).parents[2] / "manifests" / "samples"
_OF_POD: Final = "--chat-template="
"""Names a file of the pod's own volumes, which is not here."""
_KIND: Final = "SpeculativeInferenceService"


def cases(accelerator: str) -> Iterator[dict[str, Any]]:
    """One for each sample on an accelerator. Raises Invalid for a sample that the operator itself refuses."""
    for path in sorted(SAMPLES.glob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
            if document and document.get("kind") == _KIND and _accelerator(document) == accelerator:
                yield case(path.stem, document)


def _accelerator(document: dict[str, Any]) -> str | None:
    """What the engine of a sample runs on; None: the sample guards an engine that another owner starts."""
    found: str | None = document["spec"].get("engine", {}).get("accelerator")
    return found


def question(case: dict[str, Any]) -> str:
    """What the engine is asked by a case: another name of the service does not make another question."""
    argv = [each for each in case["argv"] if not each.startswith("--served-model-name=")]
    return json.dumps([case["target"], case["draft"], argv])


def case(name: str, document: dict[str, Any]) -> dict[str, Any]:
    """The case of one sample; its models are named by their addresses, and lie where every other sample has them."""
    spec = document["spec"]
    try:
        args = rendering(document).manifest["spec"]["predictor"]["model"]["args"]
    except Invalid as refused:
        raise Invalid(f"{name}: {refused.field}", refused.value, refused.rule) from refused
    draft = (spec.get("speculation") or {}).get("draft") or {}
    suffix = (spec.get("speculation") or {}).get("method") == "suffix"
    return {
        "id": f"{PREFIX}{name}",
        "target": model(spec["model"]["uri"]),
        "draft": model(draft["uri"]) if draft else None,
        "argv": [each.replace(f"{SINGLE_PATH}/", f"{ARTIFACTS}/") for each in args if not each.startswith(_OF_POD)],
        **({"arctic_stub": True} if suffix else {}),
    }


def model(uri: str) -> str:
    """`hf://Qwen/Qwen3-8B:main` -> `Qwen3-8B`."""
    return uri.rpartition("://")[2].rpartition("/")[2].partition(":")[0]


def written(accelerator: str, out: Path) -> int:
    """Write the cases of an accelerator; returns how many."""
    lines = [json.dumps(each) for each in cases(accelerator)]
    out.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return len(lines)
