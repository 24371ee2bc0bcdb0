"""Whether the engine can open the models: the folder, the model type, the architecture."""

from collections.abc import Iterator
from typing import Final

from specdec_operator.engine.case import Model
from specdec_operator.engine.facts import Facts, facts
from specdec_operator.engine.rule import Finding, Rule
from specdec_operator.engine.rules.making import SPECULATIVE, refused, stricter
from specdec_operator.engine.settled import Settled
from specdec_operator.engine.tables import known, table

_CONFIG: Final = "transformers_utils/config.py"

FOLDER: Final = refused("MODEL-FOLDER", "A model needs a folder with a readable config.json.", _CONFIG)
TYPE: Final = refused(
    "MODEL-TYPE", "The transformers library of the engine's version must know the model type.", _CONFIG
)
ARCHITECTURE: Final = refused(
    "ARCH-UNKNOWN",
    "The version must have the architecture, under the name that the method gives it.",
    "model_executor/models/registry.py",
)
NESTED: Final = refused(
    "MEDUSA-DRAFT",
    "Since 0.25 medusa reads its draft's config as flat heads; one with a text part cannot be read.",
    _CONFIG,
    since="0.25",
    until="0.32",
)
HEAD_0_11: Final = stricter(
    "ARCH-HEAD",
    "Up to 0.14 a head's architecture is looked up only when its weights are loaded.",
    SPECULATIVE,
    until="0.14",
)
EMBEDDING: Final = refused("DRAFT-EMBEDDING", "A model that only embeds cannot draft.", "config/model.py", since="0.25")
EMBEDDING_EARLIER: Final = stricter(
    "DRAFT-EMBEDS",
    "A model that only embeds is opened as a draft, and has no head to draft with.",
    "recorded",
    until="0.24",
)

RULES: Final = (FOLDER, TYPE, ARCHITECTURE, NESTED, HEAD_0_11, EMBEDDING, EMBEDDING_EARLIER)

_HEADS_LOOKED_UP_SINCE: Final = "0.15"
_SUFFIXES: Final = ("ForCausalLM", "ForConditionalGeneration", "ChatModel", "LMHeadModel", "ForTextEncoding")
_SUFFIXES_2: Final = ("EmbeddingModel", "ForSequenceClassification", "ForTokenClassification", "RewardModel", "Model")


def check(settled: Settled) -> Iterator[Finding]:
    """The target first, then the draft, as the engine opens them."""
    if settled.case.target is not None:
        yield from _openable("target", settled.case.target, settled, medusa=False)
        yield from _served(settled)
    if settled.opens is None or not settled.speculates or settled.own:
        yield from _drafting(settled)
        return
    medusa = settled.word == "medusa" and settled.at_least("0.25")
    yield from _openable("draft", settled.opens, settled, medusa=medusa)
    if medusa and settled.opened is not None and settled.opened.text is not settled.opened.config:
        yield NESTED.broken("draft.text_config", None, "use a draft with Medusa heads")
    yield from _drafting(settled)


def _openable(role: str, model: Model, settled: Settled, *, medusa: bool) -> Iterator[Finding]:
    """Folder and model type."""
    if model.problem:
        yield FOLDER.broken(f"{role}.config", model.problem, f"the {role} at {model.path!r}: {model.problem}")
        return
    found = facts(model)
    if found is None or medusa or found.head or "auto_map" in found.config:
        return
    if not found.model_type:
        if not _named_in_path(model.path, settled):
            yield TYPE.broken(f"{role}.model_type", None, f"the {role}'s config.json has no model_type")
    elif known("model_types", "known", found.model_type, settled.version) is False:
        message = f"{settled.case.build} does not know the {role}'s model type {found.model_type!r}"
        yield TYPE.broken(f"{role}.model_type", found.model_type, message)


def _named_in_path(path: str, settled: Settled) -> bool:
    """Transformers before version 5 guess a missing model type from the folder's name."""
    types = (each for cell in table("model_types")["known"].values() for line in _lines(cell) for each in line.split())
    return not settled.at_least("0.20") and any(each in path for each in types)


def _lines(cell: str | list[str]) -> list[str]:
    return [cell] if isinstance(cell, str) else cell


def _served(settled: Settled) -> Iterator[Finding]:
    """The target's own architecture."""
    target = settled.target
    if target is None or not target.architectures or "auto_map" in target.config or not target.model_type:
        return
    if all(_missing(each, settled) and not _adapted(each, settled) for each in target.architectures):
        yield _arch(ARCHITECTURE, "target", target, settled)


def _drafting(settled: Settled) -> Iterator[Finding]:
    """The draft's architecture as it is opened, and as the method renames it."""
    opened, draft = settled.opened, settled.draft
    if opened is None or draft is None or not opened.architectures or "auto_map" in opened.config or opened.head:
        return
    if all(_missing(each, settled) for each in opened.architectures):
        yield _arch(ARCHITECTURE, "draft", opened, settled)
    elif all(_missing(each, settled) for each in draft.architectures):
        rule = ARCHITECTURE if settled.at_least(_HEADS_LOOKED_UP_SINCE) else HEAD_0_11
        yield _arch(rule, "draft", draft, settled)
    names = opened.architectures
    if any(known("architectures", "embedding_only", each, settled.version) for each in names):
        rule = EMBEDDING if settled.at_least("0.25") else EMBEDDING_EARLIER
        yield rule.broken("draft.architectures", list(names), f"{', '.join(names)} only embeds; use one that generates")


def _arch(rule: Rule, role: str, model: Facts, settled: Settled) -> Finding:
    names = ", ".join(model.architectures)
    as_what = f" as {settled.method}" if role == "draft" and settled.method else ""
    message = f"{settled.case.build} has no architecture {names}; it cannot run the {role} at {model.path!r}{as_what}"
    return rule.broken(f"{role}.architectures", list(model.architectures), message)


def _missing(architecture: str, settled: Settled) -> bool:
    """Whether neither the engine nor the transformers library behind it can run an architecture, for certain."""
    registered = known("architectures", "registered", architecture, settled.version)
    behind = known("model_types", "transformers_backend", architecture, settled.version)
    return registered is False and behind is False


def _adapted(architecture: str, settled: Settled) -> bool:
    """Whether the engine serves it through another class of the same model."""
    stems = [architecture.removesuffix(each) for each in (*_SUFFIXES, *_SUFFIXES_2) if architecture.endswith(each)]
    others = (f"{stem}{each}" for stem in stems for each in (*_SUFFIXES, *_SUFFIXES_2))
    return any(known("architectures", "registered", each, settled.version) is not False for each in others)
