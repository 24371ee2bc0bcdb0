"""The operator as its Deployment says: image, settings and pods."""

from dataclasses import dataclass
from typing import Final

from specdec_operator.cli.found import Found
from specdec_operator.doctor.labels import strings
from specdec_operator.doctor.picture import Look

LABEL: Final = "app.kubernetes.io/name=specdec-operator"
HOME: Final = "specdec-system"
KSERVE_HOME: Final = "kserve"
_WHOLE: Final = ("spec", "template", "spec")


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """One Deployment. tag: of its image, empty where it has none. labels: of its pods. settings: SPECDEC_*."""

    namespace: str
    name: str
    image: str
    account: str
    replicas: int
    available: int
    labels: dict[str, str]
    settings: dict[str, str]

    @property
    def about(self) -> str:
        """As findings name it."""
        return f"{self.namespace}/{self.name}"

    @property
    def tag(self) -> str:
        """The tag of its image; empty where there is none."""
        name, _, tag = self.image.partition("@")[0].rpartition(":")
        return tag if name and "/" not in tag else ""

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces that it watches; empty: all."""
        return tuple(each for each in self.settings.get("SPECDEC_NAMESPACES", "").split(",") if each)

    @property
    def kserve_namespace(self) -> str:
        """Where it looks for KServe's controller."""
        return self.settings.get("SPECDEC_KSERVE_NAMESPACE", "") or KSERVE_HOME

    @property
    def lease(self) -> tuple[str, str] | None:
        """Namespace and name of the Lease of its election; None where there is no election."""
        namespace, slash, name = self.settings.get("SPECDEC_LEADER_LEASE", "").partition("/")
        return (namespace, name) if slash else None


def operators(look: Look) -> tuple[Operator, ...]:
    """All that run in the cluster; one with no replicas runs not."""
    found = (_operator(each) for each in look.items if _is_ours(each))
    return tuple(each for each in found if each.replicas)


def _is_ours(found: Found) -> bool:
    return (
        any("SPECDEC" in name for name in _settings(found)) or "specdec-operator" in _container(found).of("image").text
    )


def _operator(found: Found) -> Operator:
    meta, replicas = found.of("metadata"), found.of("spec", "replicas").whole
    return Operator(
        namespace=meta.of("namespace").text,
        name=meta.of("name").text,
        image=_container(found).of("image").text,
        account=found.of(*_WHOLE, "serviceAccountName").text or "default",
        replicas=1 if replicas is None else replicas,
        available=found.of("status", "availableReplicas").whole or 0,
        labels=strings(found.of("spec", "template", "metadata", "labels")),
        settings=_settings(found),
    )


def _container(found: Found) -> Found:
    containers = found.of(*_WHOLE, "containers").items
    return next((each for each in containers if each.of("name").text == "operator"), (*containers, Found())[0])


def _settings(found: Found) -> dict[str, str]:
    return {each.of("name").text: each.of("value").text for each in _container(found).of("env").items}
