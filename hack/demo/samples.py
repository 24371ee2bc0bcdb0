"""The two samples that the demo applies, and what the demo must know of them. It reads them and never changes them."""

import pathlib
from dataclasses import dataclass

import yaml

from specdec_operator.api.guard import Guard
from specdec_operator.api.spec import Spec

FOLDER = pathlib.Path(__file__).parents[2] / "manifests" / "samples"
PLAIN = FOLDER / "demo-plain.yaml"
SPECULATIVE = FOLDER / "demo-speculative.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A SpeculativeInferenceService in a file."""

    file: pathlib.Path
    namespace: str
    name: str
    spec: Spec

    @property
    def guard(self) -> Guard:
        """The guard's settings, defaults filled in."""
        return self.spec.guard

    @property
    def decision_bound(self) -> float:
        """Seconds from the onset of bad traffic within which the operator promises to decide."""
        return (self.guard.failure_limit + 1) * self.guard.window


def read(file: pathlib.Path) -> Sample:
    """Read one sample."""
    document = yaml.safe_load(file.read_text(encoding="utf-8"))
    return Sample(
        file=file,
        namespace=document["metadata"]["namespace"],
        name=document["metadata"]["name"],
        spec=Spec.model_validate(document["spec"]),
    )
