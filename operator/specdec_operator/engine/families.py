"""Which models carry their own drafting heads (multi-token prediction), and what the engine makes of their config."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from specdec_operator.engine.facts import Facts, text_part, whole
from specdec_operator.engine.tables import table, words
from specdec_operator.engine.version import Version, holds


def as_drafter(model: Facts, version: Version) -> Facts:
    """The config as a draft: models with heads of their own become the drafter that runs those heads."""
    row = next((row for row in _rows(model) if holds(version, row.get("since", ""), row.get("until", ""))), None)
    if row is None:
        return model
    predicted = whole(_holder(model, row), row["n_predict"]) if row["n_predict"] else 1
    predicted = row.get("default") if predicted is None else predicted
    if row.get("default") == 0 and not predicted:
        return model
    named = (row["architecture"],) if row["architecture"] else model.architectures
    return replace(model, model_type=row["becomes"], architectures=named, n_predict=predicted)


def drafts_itself(model: Facts, version: Version) -> bool | None:
    """Whether the model belongs to a family with drafting heads; None where that is not known for the version."""
    if is_drafter(as_drafter(model, version).model_type, version):
        return True
    later = (row for row in _rows(model) if not holds(version, row.get("since", "")))
    unsure = any("maybe_since" in row and holds(version, row["maybe_since"]) for row in later)
    return None if unsure else False


def is_drafter(model_type: str, version: Version) -> bool:
    """Whether a model type is one of the words for multi-token prediction in that version."""
    word = table("methods")["methods"].get(model_type)
    is_mtp = word is not None and (word.get("alias_of") == "mtp" or model_type == "mtp")
    return is_mtp and holds(version, word.get("since", ""), word.get("until", ""))


def assumes_heads(model_type: str) -> bool:
    """Whether the drafter of a family takes one head where the config does not say how many there are."""
    return any("assumes" in row for row in table("mtp")["families"] if row["becomes"] == model_type)


def _rows(model: Facts) -> list[dict[str, Any]]:
    """The rows of the table that fit, first to last."""
    first = model.architectures[0] if model.architectures else ""
    return [row for row in table("mtp")["families"] if _fits(row, model.model_type, first)]


def _fits(row: Mapping[str, Any], model_type: str, architecture: str) -> bool:
    by_type = model_type in words(row.get("model_types", []))
    part_of_type = bool(row.get("contains")) and row.get("contains", "") in model_type
    return by_type or part_of_type or architecture in words(row.get("architectures", []))


def _holder(model: Facts, row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part of the config that holds the number of heads."""
    if (nested := row.get("nested")) and isinstance(part := model.config.get(nested), Mapping):
        return part
    return text_part(model.config) if nested else model.config
