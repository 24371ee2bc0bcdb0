"""NetworkPolicies: whether one pod may open a connection to a port of another, as far as the API can tell."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from specdec_operator.cli.found import Found
from specdec_operator.doctor.labels import chooses


class Way(StrEnum):
    """Which end's policies are asked: what comes in, or what goes out."""

    IN = "Ingress"
    OUT = "Egress"


class Answer(StrEnum):
    """MAYBE: only an ipBlock may let it through, and addresses of pods come and go."""

    YES = "yes"
    MAYBE = "maybe"
    NO = "no"


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """One end of a connection: a pod's labels, its namespace and that namespace's labels."""

    namespace: str
    around: Mapping[str, str]
    labels: Mapping[str, str]


def selecting(policies: tuple[Found, ...], end: End, way: Way) -> tuple[Found, ...]:
    """The policies of its namespace that are about this pod and this way."""
    return tuple(each for each in policies if _ways(each, way) and chooses(each.of("spec", "podSelector"), end.labels))


def lets(policies: tuple[Found, ...], other: End, way: Way, port: int, names: Mapping[str, int], own: str) -> Answer:
    """Whether policies that select a pod, all together, let the other end through.

    names: the serving pod's ports by name. own: the namespace of the policies. No policy at all lets everybody.
    """
    if not policies:
        return Answer.YES
    rules = [rule for each in policies for rule in each.of("spec", way.lower()).items]
    answers = {_rule(rule, other, way, own) for rule in rules if _port(rule, port, names)}
    return next((each for each in (Answer.YES, Answer.MAYBE) if each in answers), Answer.NO)


def _ways(policy: Found, way: Way) -> bool:
    """Without policyTypes a policy is about what comes in, and about what goes out where it has such rules."""
    said = policy.of("spec", "policyTypes").texts
    if said:
        return way in said
    return way is Way.IN or bool(policy.of("spec", "egress").items)


def _rule(rule: Found, other: End, way: Way, own: str) -> Answer:
    peers = rule.of("from" if way is Way.IN else "to").items
    if not peers:
        return Answer.YES
    answers = {_peer(each, other, own) for each in peers}
    return next((each for each in (Answer.YES, Answer.MAYBE) if each in answers), Answer.NO)


def _peer(peer: Found, other: End, own: str) -> Answer:
    if peer.of("ipBlock").there:
        return Answer.MAYBE
    spaces, pods = peer.of("namespaceSelector"), peer.of("podSelector")
    near = chooses(spaces, other.around) if isinstance(spaces.value, Mapping) else other.namespace == own
    return Answer.YES if near and chooses(pods, other.labels) else Answer.NO


def _port(rule: Found, port: int, names: Mapping[str, int]) -> bool:
    listed = rule.of("ports").items
    return not listed or any(_is_port(each, port, names) for each in listed)


def _is_port(found: Found, port: int, names: Mapping[str, int]) -> bool:
    if found.of("protocol").text not in ("", "TCP"):
        return False
    first, last = found.of("port"), found.of("endPort").whole
    if isinstance(first.value, str):
        return names.get(first.value) == port
    low = first.whole
    return low is None or low <= port <= (last or low)
