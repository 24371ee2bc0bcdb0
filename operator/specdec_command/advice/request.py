"""A user's question how to speculate."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from specdec_command.advice.catalogue import PodLoad, Workload
from specdec_command.advice.families import TargetFamily, architectures
from specdec_engine.case import Json
from specdec_engine.version import Build
from specdec_operator.engine.build import build_of


class DraftType(StrEnum):
    """What a draft is. The words are those of the methods that run them, and two that need parallelDrafting."""

    DRAFT_MODEL = "draft_model"
    PARD = "pard"
    EAGLE = "eagle"
    EAGLE3 = "eagle3"
    P_EAGLE = "p-eagle"
    MTP = "mtp"
    DFLASH = "dflash"
    DSPARK = "dspark"
    MEDUSA = "medusa"

    @property
    def method(self) -> str:
        """The method that runs it."""
        return {DraftType.PARD: "draft_model", DraftType.P_EAGLE: "eagle3"}.get(self, self.value)

    @property
    def parallel(self) -> bool:
        """Whether it was trained to guess all K tokens at once."""
        return self in (DraftType.PARD, DraftType.P_EAGLE)


class Use(StrEnum):
    """What clients ask for in their requests and speculation does not go well with."""

    MIN_P = "min_p"
    LOGIT_BIAS = "logit_bias"
    MIN_TOKENS = "min_tokens"
    LOGITS_PROCESSORS = "logits_processors"
    STRUCTURED_OUTPUT = "structured_output"


@dataclass(frozen=True, slots=True, kw_only=True)
class AvailableDraft:
    """An available draft. config: its config.json, if it was read."""

    uri: str
    kind: DraftType
    config: Json | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceRequest:
    """One service.

    name: of the service. uri: where the target lies; None: a place is made up.
    repository: of the target on a hub, as far as the user named it.
    config: its config.json; None where only the family is known.
    concurrency: requests that one pod answers at once at its busy times.
    version: of the engine, as in spec.engine.version; None: this release's image.
    prompt_tokens, answer_tokens: of a usual request; None: not known. temperature: that clients ask for mostly.
    image: the engine's own image; None: the runtime's. packages: optional Python packages in it, as arctic_inference.
    """

    name: str
    uri: str | None = None
    repository: str = ""
    config: Json | None = None
    family: TargetFamily | None = None
    workload: Workload = Workload.CHAT
    concurrency: int = 4
    accelerator: str = "nvidia"
    version: str | None = None
    tensor_parallel: int = 1
    draft: AvailableDraft | None = None
    prompt_tokens: int | None = None
    answer_tokens: int | None = None
    temperature: float = 0.0
    uses: frozenset[Use] = frozenset()
    image: str | None = None
    packages: frozenset[str] = frozenset()

    @property
    def load(self) -> PodLoad:
        """The concurrency as one of three."""
        if self.concurrency <= 8:
            return PodLoad.FEW
        return PodLoad.SOME if self.concurrency <= 31 else PodLoad.MANY

    @property
    def build(self) -> Build:
        """The engine. Raises Invalid for a text that is not a version."""
        return build_of(self.accelerator, self.version)

    def draft_for(self, method: str) -> AvailableDraft | None:
        """The draft that is at hand, where this method runs it."""
        return self.draft if self.draft and self.draft.kind.method == method else None

    @property
    def draft_config(self) -> Json:
        """The draft's config.json; empty where it was not seen."""
        return (self.draft.config if self.draft else None) or {}


_MARKS: Final = (
    ("dspark", DraftType.DSPARK),
    ("dflash", DraftType.DFLASH),
    ("peagle", DraftType.P_EAGLE),
    ("eagle3", DraftType.EAGLE3),
    ("eagle", DraftType.EAGLE),
    ("medusa", DraftType.MEDUSA),
    ("mtp", DraftType.MTP),
    ("_assistant", DraftType.MTP),
)
"""Parts of names that show the kind, the more specific first."""


def kind_of(config: Mapping[str, Any]) -> DraftType:
    """What a draft is by its config.json; a language model where nothing else shows."""
    types = f"{config.get('speculators_model_type') or ''}{config.get('model_type') or ''}"
    marks = f"{''.join(architectures(config))} {types}".lower()
    kind = next((kind for mark, kind in _MARKS if mark in marks), None)
    if kind is None:
        return DraftType.PARD if "pard_token" in config else DraftType.DRAFT_MODEL
    return DraftType.P_EAGLE if kind is DraftType.EAGLE3 and "ptd_token_id" in config else kind
