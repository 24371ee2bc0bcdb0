"""The nodes that a pod may land on, as far as labels show: what to ask for, and what is kept of the answer. Pure.

Taints are not looked at: a node that the pod cannot land on because of one may count, and the smallest device counts.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from specdec_operator.engine.devices import TELLS

_NAME: Final = re.compile(r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_VALUE: Final = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_MOST_TERMS: Final = 8


def selectors(pod: Mapping[str, Any]) -> tuple[str, ...]:
    """Label selectors that together choose the nodes which spec.pod allows; one that is empty chooses all.

    Terms that no label selector can express (Gt, Lt, fields) and invalid ones are dropped: more nodes count then.
    """
    wanted = pod.get("nodeSelector") or {}
    fixed = [f"{key}={value}" for key, value in sorted(wanted.items()) if _named(key) and _valued(value)]
    terms = [",".join((*fixed, *_expressions(term))) for term in _terms(pod.get("affinity"))]
    return tuple(dict.fromkeys(terms)) if 0 < len(terms) <= _MOST_TERMS else (",".join(fixed),)


def device_facts(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Labels and annotations of a node that describe its devices."""
    every = {**(metadata.get("annotations") or {}), **(metadata.get("labels") or {})}
    return {name: str(value) for name, value in every.items() if TELLS.fullmatch(name)}


def _terms(affinity: object) -> list[Mapping[str, Any]]:
    required = affinity
    for name in ("nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"):
        required = required.get(name) if isinstance(required, dict) else None
    return [each for each in required if isinstance(each, dict)] if isinstance(required, list) else []


def _expressions(term: Mapping[str, Any]) -> Iterator[str]:
    listed = term.get("matchExpressions")
    for each in listed if isinstance(listed, list) else ():
        if not isinstance(each, dict) or not _named(each.get("key")):
            continue
        key, values = each["key"], each.get("values")
        match each.get("operator"):
            case "In" | "NotIn" as operator if isinstance(values, list) and values and all(map(_valued, values)):
                yield f"{key} {operator.lower()} ({','.join(sorted(values))})"
            case "Exists":
                yield key
            case "DoesNotExist":
                yield f"!{key}"


def _named(key: object) -> bool:
    return isinstance(key, str) and _NAME.fullmatch(key) is not None


def _valued(value: object) -> bool:
    return isinstance(value, str) and _VALUE.fullmatch(value) is not None
