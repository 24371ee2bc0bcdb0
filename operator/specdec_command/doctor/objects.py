"""The objects that checks look at, parsed: the operator's Deployments, services, runtimes and nodes."""

import re
from dataclasses import dataclass
from typing import Final

from pydantic import ValidationError

from specdec_command.doctor.snapshot import QueryAnswer, Snapshot
from specdec_engine.accelerators import Accelerator
from specdec_engine.quantity import quantity
from specdec_operator.api.spec import Spec
from specdec_operator.api.staging import StagingMode
from specdec_operator.display.untrusted import Untrusted
from specdec_operator.observe.pods import ENGINE_CONTAINER
from specdec_operator.render.inference_service import resources
from specdec_operator.staging.artifacts import claim_name
from specdec_operator.staging.kserve import KServe

HOME: Final = "specdec-system"
KSERVE_HOME: Final = "kserve"
_POD: Final = ("spec", "template", "spec")


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
    def user(self) -> str:
        """Its service account, as the API server calls it."""
        return f"system:serviceaccount:{self.namespace}:{self.account}"

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
    def runtimes(self) -> tuple[tuple[str, str], ...]:
        """Accelerators, and the runtimes of services that name none."""
        named = (each.partition("=") for each in self.settings.get("SPECDEC_RUNTIMES", "").split(","))
        return tuple((accelerator.strip(), name.strip()) for accelerator, equals, name in named if equals)

    @property
    def kserve_namespace(self) -> str:
        """Where it looks for KServe's controller."""
        return self.settings.get("SPECDEC_KSERVE_NAMESPACE", "") or KSERVE_HOME

    @property
    def lease(self) -> tuple[str, str] | None:
        """Namespace and name of the Lease of its election; None where there is no election."""
        namespace, slash, name = self.settings.get("SPECDEC_LEADER_LEASE", "").partition("/")
        return (namespace, name) if slash else None

    @property
    def shards(self) -> int:
        """How many replicas act, each with a Lease of its own; 1 without shards."""
        text = self.settings.get("SPECDEC_SHARDS", "")
        return int(text) if re.fullmatch("[1-9][0-9]?", text) else 1

    @property
    def leases(self) -> tuple[str, ...]:
        """Names of the Leases that its replicas hold, one for each shard; empty where there is no election."""
        if self.lease is None:
            return ()
        _, name = self.lease
        return (name,) if self.shards == 1 else tuple(f"{name}-{shard}" for shard in range(self.shards))


def operators(answer: QueryAnswer) -> tuple[Operator, ...]:
    """All that run in the cluster; one with no replicas runs not."""
    every = (_operator(each) for each in answer.items if _is_ours(each))
    return tuple(each for each in every if each.replicas)


def first_operator(answer: QueryAnswer) -> Operator | None:
    """The one that the checks of single things are about; None where none runs."""
    return next(iter(operators(answer)), None)


def _is_ours(deployment: Untrusted) -> bool:
    image = _container(deployment).of("image").text
    return "specdec-operator" in image or any("SPECDEC" in name for name in _settings(deployment))


def _operator(deployment: Untrusted) -> Operator:
    meta, replicas = deployment.of("metadata"), deployment.of("spec", "replicas").whole
    return Operator(
        namespace=meta.of("namespace").text,
        name=meta.of("name").text,
        image=_container(deployment).of("image").text,
        account=deployment.of(*_POD, "serviceAccountName").text or "default",
        replicas=1 if replicas is None else replicas,
        available=deployment.of("status", "availableReplicas").whole or 0,
        labels=deployment.of("spec", "template", "metadata", "labels").strings,
        settings=_settings(deployment),
    )


def _container(deployment: Untrusted) -> Untrusted:
    containers = deployment.of(*_POD, "containers").items
    return next((each for each in containers if each.of("name").text == "operator"), (*containers, Untrusted())[0])


def _settings(deployment: Untrusted) -> dict[str, str]:
    return {each.of("name").text: each.of("value").text for each in _container(deployment).of("env").items}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExaminedService:
    """One service. spec: None where this command cannot read it. runtime: named or given. body: as it was read."""

    namespace: str
    name: str
    spec: Spec | None
    runtime: str
    body: Untrusted

    @property
    def about(self) -> str:
        """As findings name it."""
        return f"{self.namespace}/{self.name}"

    @property
    def asks(self) -> Untrusted:
        """Requests and limits of one pod, devices with them."""
        return Untrusted(resources(self.spec) if self.spec else None)

    @property
    def claims(self) -> tuple[str, ...]:
        """PVCs that its pods mount, without the one that the operator makes itself."""
        if self.spec is None or self.spec.model is None:
            return ()
        draft = self.spec.speculation.draft if self.spec.speculation else None
        uris = (self.spec.model.uri, *([draft.uri] if draft and draft.uri else []))
        named = (each.removeprefix("pvc://").partition("/")[0] for each in uris if each.startswith("pvc://"))
        return tuple(dict.fromkeys(named))

    @property
    def own_claim(self) -> str:
        """The PVC that the operator makes for it; empty if it makes none."""
        staging = self.spec.staging if self.spec else None
        return claim_name(self.name) if staging and staging.mode is StagingMode.PERSISTENT_VOLUME_CLAIM else ""

    def condition(self, name: str) -> Untrusted:
        """A condition of its status; empty where it is not there."""
        every = self.body.of("status", "conditions").items
        return next((each for each in every if each.of("type").text == name), Untrusted())


def services(snapshot: Snapshot) -> tuple[ExaminedService, ...]:
    """All requested services, without those that guard other InferenceServices: they have no pods of their own."""
    return tuple(each for each in guarded(snapshot) if each.spec is None or each.spec.guest is None)


def guarded(snapshot: Snapshot) -> tuple[ExaminedService, ...]:
    """All requested services, and those that guard other InferenceServices or Deployments."""
    every = (_service(each, snapshot) for each in snapshot.services.items)
    return tuple(each for each in every if snapshot.service in (None, each.name))


def our_runtime(accelerator: Accelerator, namespace: str, snapshot: Snapshot) -> str:
    """The runtime that the operator that watches a namespace gives its services."""
    watching = (each for each in operators(snapshot.operators) if namespace in (each.namespaces or (namespace,)))
    return KServe(runtimes=next((each.runtimes for each in watching), ())).runtime(accelerator.value)


def _service(body: Untrusted, snapshot: Snapshot) -> ExaminedService:
    meta = body.of("metadata")
    namespace = meta.of("namespace").text
    try:
        spec = Spec.model_validate(body.of("spec").value)
    except ValidationError:
        spec = None
    runtime = (spec.engine.runtime or our_runtime(spec.engine.accelerator, namespace, snapshot)) if spec else ""
    return ExaminedService(namespace=namespace, name=meta.of("name").text, spec=spec, runtime=runtime, body=body)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCapacity:
    """One node that takes pods. free: what it offers to pods in all; has: what it has, broken devices with it."""

    name: str
    labels: dict[str, str]
    architecture: str
    free: dict[str, float]
    has: dict[str, float]


def nodes(snapshot: Snapshot) -> tuple[NodeCapacity, ...]:
    """All nodes that are ready and not cordoned."""
    return tuple(_node(each) for each in snapshot.nodes.items if _takes_pods(each))


def usable(every: tuple[NodeCapacity, ...], service: ExaminedService) -> tuple[NodeCapacity, ...]:
    """Those that the service's nodeSelector chooses."""
    wanted = (service.spec and service.spec.pod and service.spec.pod.node_selector) or {}
    return tuple(each for each in every if wanted.items() <= each.labels.items())


def _takes_pods(node: Untrusted) -> bool:
    conditions = node.of("status", "conditions").items
    ready = any(each.of("type").text == "Ready" and each.of("status").text == "True" for each in conditions)
    return ready and not node.of("spec", "unschedulable").flag


def _node(node: Untrusted) -> NodeCapacity:
    status = node.of("status")
    return NodeCapacity(
        name=node.of("metadata", "name").text,
        labels=node.of("metadata", "labels").strings,
        architecture=status.of("nodeInfo", "architecture").text,
        free=_amounts(status.of("allocatable")),
        has=_amounts(status.of("capacity")),
    )


def _amounts(amounts: Untrusted) -> dict[str, float]:
    every = {name: quantity(text) for name, text in amounts.strings.items()}
    return {name: number for name, number in every.items() if number is not None}


def runtime_of(service: ExaminedService, snapshot: Snapshot) -> Untrusted | None:
    """The runtime of a service: of its namespace, or else of the cluster. None where there is none."""
    spaces = [space.runtimes for space in snapshot.spaces if space.name == service.namespace]
    every = (each for answer in (*spaces, snapshot.runtimes) for each in answer.items)
    return next((each for each in every if each.of("metadata", "name").text == service.runtime), None)


def engine_of(runtime: Untrusted) -> Untrusted:
    """The container of a runtime that serves."""
    every = runtime.of("spec", "containers").items
    return next((each for each in every if each.of("name").text == ENGINE_CONTAINER), Untrusted())
