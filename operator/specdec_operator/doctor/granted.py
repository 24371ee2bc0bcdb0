"""What ClusterRoles grant a service account: the answer where the API server may not be asked for its own."""

from collections.abc import Iterator
from dataclasses import dataclass

from specdec_operator.cli.found import Found
from specdec_operator.doctor.needs import Need, Reach
from specdec_operator.doctor.operators import Operator
from specdec_operator.doctor.picture import Look


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """ClusterRoles and ClusterRoleBindings of a cluster. Roles of single namespaces are not among them."""

    roles: Look
    bindings: Look

    def grant(self, operator: Operator, need: Need, verb: str) -> bool | None:
        """Whether a ClusterRole grants it. None where a Role of a namespace may, or not everything could be read."""
        if not self.roles.complete or not self.bindings.complete:
            return None
        if any(_allows(rule, need, verb) for rule in self._rules(operator)):
            return True
        elsewhere = need.reach in (Reach.KSERVE, Reach.OWN, Reach.LEASE) or (
            need.reach is Reach.SERVICES and operator.namespaces
        )
        return None if elsewhere else False

    def _rules(self, operator: Operator) -> Iterator[Found]:
        bound = {
            binding.of("roleRef", "name").text
            for binding in self.bindings.items
            if any(_is(subject, operator) for subject in binding.of("subjects").items)
        }
        for role in self.roles.items:
            if role.of("metadata", "name").text in bound:
                yield from role.of("rules").items


def _is(subject: Found, operator: Operator) -> bool:
    kind, name = subject.of("kind").text, subject.of("name").text
    if kind == "Group":
        everybody = ("system:serviceaccounts", "system:authenticated", f"system:serviceaccounts:{operator.namespace}")
        return name in everybody
    if kind == "User":
        return name == f"system:serviceaccount:{operator.namespace}:{operator.account}"
    return kind == "ServiceAccount" and (subject.of("namespace").text, name) == (operator.namespace, operator.account)


def _allows(rule: Found, need: Need, verb: str) -> bool:
    names = rule.of("resourceNames").texts
    groups = [each.text for each in rule.of("apiGroups").items]
    resources, verbs = rule.of("resources").texts, rule.of("verbs").texts
    return (
        ("*" in groups or need.group in groups)
        and ("*" in resources or need.resource in resources)
        and ("*" in verbs or verb in verbs)
        and (not names or need.name in names)
    )
