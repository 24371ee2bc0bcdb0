"""Every method as the operator would start it: its own flags, with this machine's folders in place of the pod's."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from lab.engine import place, server
from specdec_command.cli.render import rendering
from specdec_operator.errors import Invalid

_Spec = Mapping[str, Any]
_POD: Final = {"/mnt/target/model": "target", "/mnt/draft/model": "draft"}
_ENGINE: Final = {"maxModelLen": 1024}


@dataclass(frozen=True, kw_only=True, slots=True)
class MethodCase:
    """One way to speculate; cases.yaml describes the fields."""

    name: str
    speculation: _Spec = field(default_factory=dict)
    draft: str | None = None
    target: str = "target"
    drafts: bool = True
    engine: _Spec = field(default_factory=dict)

    def spec(self, accelerator: str | None = None) -> dict[str, Any]:
        """Return a whole service for it, on the place of this run unless another accelerator is named."""
        where = place.chosen()
        body: dict[str, Any] = {
            "model": {"uri": "pvc://models/target"},
            "engine": {**_ENGINE, **where.engine, **self.engine, "accelerator": accelerator or where.accelerator},
        }
        if self.speculation:
            body["speculation"] = dict(self.speculation)
        if self.draft:
            body["speculation"]["draft"] = {"uri": f"pvc://models/{self.draft}"}
        return {
            "apiVersion": "serving.specdec.io/v1alpha1",
            "kind": "SpeculativeInferenceService",
            "metadata": {"name": "m"},
            "spec": body,
        }

    def flags(self, models: Path, accelerator: str | None = None) -> list[str]:
        """Return vLLM's flags. Raises Invalid for what the operator refuses."""
        places = {"target": models / self.target, "draft": models / (self.draft or "")}
        manifest = rendering(self.spec(accelerator)).manifest
        found = [*manifest["spec"]["predictor"]["model"]["args"], *server.SMALL, *place.chosen().flags]
        for pod, role in _POD.items():
            found = [each.replace(pod, str(places[role])) for each in found]
        return found

    def raw(self, models: Path) -> list[str]:
        """Return flags for what the operator refuses on a CPU, with the method's values unchanged."""
        config = {"method": self.speculation["method"], "num_speculative_tokens": self.speculation["tokens"]}
        if self.draft:
            config["model"] = str(models / self.draft)
        return server.flags(models / self.target, config)


BASELINE: Final = MethodCase(name="plain", drafts=False)
_TABLE: Final = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
METHODS: Final = tuple(MethodCase(**each) for each in _TABLE["methods"])
ELSEWHERE: Final = tuple(MethodCase(**each) for each in _TABLE["elsewhere"])


def starts(method: MethodCase) -> bool:
    """Whether the operator starts it on the place of this run: the images' engines are not of one version."""
    try:
        return bool(rendering(method.spec()).flags)
    except Invalid:
        return False


def split() -> tuple[list[MethodCase], list[MethodCase]]:
    """Return the methods that the operator starts on the place of this run, and those that it refuses there."""
    known = (*METHODS, *ELSEWHERE)
    started = [each for each in known if starts(each)]
    return started, [each for each in known if each not in started]
