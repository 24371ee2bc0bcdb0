"""A method as the operator would start it: its own flags, with this machine's folders in place of the pod's."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from specdec_operator.cli.rendering import rendering

if TYPE_CHECKING:
    from pathlib import Path

    from hack.engine.cases import Method

_POD: Final = {"/mnt/target/model": "target", "/mnt/draft/model": "draft"}
_ENGINE: Final = {"accelerator": "cpu", "maxModelLen": 1024, "enforceEager": True}
_SMALL: Final = ("--kv-cache-memory-bytes=67108864", "--distributed-executor-backend=uni")
"""As the demo starts it: one process, and a cache that is enough for a few requests."""


def spec(method: Method, accelerator: str = "cpu") -> dict[str, Any]:
    """Return a whole sis for a method."""
    body: dict[str, Any] = {
        "model": {"uri": "pvc://models/target"},
        "engine": {**_ENGINE, **method.engine, "accelerator": accelerator},
    }
    if method.speculation:
        body["speculation"] = dict(method.speculation)
    if method.draft:
        body["speculation"]["draft"] = {"uri": f"pvc://models/{method.draft}"}
    return {
        "apiVersion": "serving.specdec.io/v1alpha1",
        "kind": "SpeculativeInferenceService",
        "metadata": {"name": "m"},
        "spec": body,
    }


def flags(method: Method, models: Path, accelerator: str = "cpu") -> list[str]:
    """Return vLLM's flags. Raises Invalid for what the operator refuses."""
    places = {"target": models / method.target, "draft": models / (method.draft or "")}
    manifest = rendering(spec(method, accelerator)).manifest
    found = [*manifest["spec"]["predictor"]["model"]["args"], *_SMALL]
    for pod, place in _POD.items():
        found = [each.replace(pod, str(places[place])) for each in found]
    return found


def raw(method: Method, models: Path) -> list[str]:
    """Return flags for what the operator refuses on a CPU, with the method's words as they are."""
    config = {"method": method.speculation["method"], "num_speculative_tokens": method.speculation["tokens"]}
    if method.draft:
        config["model"] = str(models / method.draft)
    plain = [f"--model={models / method.target}", "--served-model-name=m", "--max-model-len=1024", "--enforce-eager"]
    return [*plain, f"--speculative-config={json.dumps(config, sort_keys=True)}", *_SMALL]
