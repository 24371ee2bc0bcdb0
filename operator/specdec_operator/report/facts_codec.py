"""The facts that pods reported, in the form of the status, and back. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from specdec_engine.found_engine import is_engine
from specdec_engine.memory.facts import MOST_CONFIG, PodFact, Role
from specdec_operator.schema.status import FactStatus


def facts_status(facts: Iterable[PodFact]) -> list[FactStatus] | None:
    """The facts for a status; None where there are none."""
    return [
        FactStatus(
            role=each.role.value,
            about=each.of,
            bytes=each.bytes or None,
            config=each.config or None,
            engine=each.engine or None,
            used=each.used,
        )
        for each in facts
    ] or None


def facts_of(status: Mapping[str, Any]) -> tuple[PodFact, ...]:
    """The facts of a status. An entry that the operator cannot have written is ignored."""
    return tuple(fact for each in status.get("facts") or () if (fact := _fact(each)))


def _fact(written: Any) -> PodFact | None:
    try:
        kept = FactStatus.model_validate(written)
        fact = PodFact(
            role=Role(kept.role),
            of=kept.about,
            bytes=kept.bytes or 0,
            config=kept.config or "",
            engine=kept.engine or "",
            used=kept.used,
        )
        readable = isinstance(fact.document, dict | None) and (is_engine(fact.engine) or fact.bytes > 0)
    except (ValidationError, ValueError, RecursionError):
        return None
    return fact if readable and len(fact.config) <= MOST_CONFIG else None
