"""Labels, and the selectors that choose by them, as Kubernetes defines both."""

from collections.abc import Mapping

from specdec_operator.cli.found import Found


def strings(found: Found) -> dict[str, str]:
    """A mapping of texts, such as labels."""
    value = found.value
    return {str(key): Found(each).text for key, each in value.items()} if isinstance(value, Mapping) else {}


def chooses(selector: Found, labels: Mapping[str, str]) -> bool:
    """Whether a label selector chooses these labels; an empty one chooses all."""
    wanted = strings(selector.of("matchLabels"))
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    return all(_holds(each, labels) for each in selector.of("matchExpressions").items)


def _holds(expression: Found, labels: Mapping[str, str]) -> bool:
    key, values = expression.of("key").text, expression.of("values").texts
    match expression.of("operator").text:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
    return False
