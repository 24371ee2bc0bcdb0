"""Model families: data/families.json."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from specdec_command.advice.catalogue import data


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetFamily:
    """One family of targets.

    also: other names that mean it. unlike: parts of names of models that only begin like it.
    model_types: as config.json spells them.
    architectures: as config.json spells them; they decide before the model type.
    mtp_heads: tokens that its own heads guess; 0: it has none, or they are a checkpoint of their own.
    trained: methods for which drafts of this family exist.
    """

    name: str
    also: tuple[str, ...] = ()
    unlike: tuple[str, ...] = ()
    model_types: tuple[str, ...]
    architectures: tuple[str, ...] = ()
    mtp_heads: int = 0
    trained: tuple[str, ...] = ()
    note: str = ""


def _family(row: Mapping[str, Any]) -> TargetFamily:
    """Lists of JSON become tuples, which a family of the table is compared by."""
    plain: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}
    return TargetFamily(**plain)


_LATER: Final = re.compile(r"\.\d")
"""Behind the name of a family: a later version, whose models may differ."""
_TYPE: Final = re.compile(r"[_\d]")
"""What a model type has that no other word has: `llama` alone may mean any Llama."""
FAMILIES: Final = tuple(map(_family, data("families")["families"]))


def family_named(word: str) -> TargetFamily | None:
    """The family that a word means: `qwen3`, `Qwen3-8B`, `meta-llama/Llama-3.1-8B-Instruct`, or the model type of a
    config.json such as `qwen3_5`.
    """
    typed = next((each for each in FAMILIES if word.lower() in each.model_types and _TYPE.search(word)), None)
    return typed or _by_name(word)


def _by_name(word: str) -> TargetFamily | None:
    wanted = _joined(word.rsplit("/", 1)[-1].lower().removeprefix("meta-"))
    fitting = [(len(name), each) for each in FAMILIES for name in (each.name, *each.also) if _begins(wanted, name)]
    found = max(fitting, key=lambda pair: pair[0], default=(0, None))[1]
    return None if found is None or any(part in wanted for part in found.unlike) else found


def _begins(wanted: str, name: str) -> bool:
    """Whether a name begins with a family's, and the family's version ends there: qwen3.6 is not a qwen3."""
    rest = wanted.removeprefix(_joined(name))
    return rest != wanted and _LATER.match(rest) is None


def _joined(name: str) -> str:
    """Without hyphens: `deepseek-v3.2` and `deepseekv32` begin with the same word; dots stay, or 3-5B would be 3.5."""
    return name.replace("-", "").replace("_", "")


def family_of(config: Mapping[str, Any]) -> TargetFamily | None:
    """The family of a model by its config.json."""
    named = architectures(config)
    by_class = (each for each in FAMILIES if set(named) & set(each.architectures))
    by_type = (each for each in FAMILIES if config.get("model_type") in each.model_types)
    return next(chain(by_class, by_type), None)


def architectures(config: Mapping[str, Any]) -> list[str]:
    """What config.json names as its classes."""
    named = config.get("architectures")
    return [each for each in named if isinstance(each, str)] if isinstance(named, list) else []
