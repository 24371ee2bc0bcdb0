"""Each thing that can be wrong with a cluster, as a change of the one that is well; and what only looks wrong."""

from typing import Any

from tests.unit.doctor.snapshots import BROKEN, DENIED, MISSING, NVIDIA, Change, Raw, deployment, lease, node, service

from specdec_operator import __version__
from specdec_operator.guest.liveness import unnoticed_text

FALLING = [
    {"used": 0.1, "drafts": 500, "draftTokens": 2000, "acceptedTokens": 1400},
    {"used": 0.9, "drafts": 500, "draftTokens": 2000, "acceptedTokens": 800},
]
"""As a status keeps the windows by the share of the KV cache in use."""
WOULD = {"action": "RollBack", "reason": "SlowerThanPlain"}
"""As a status keeps what the guard would do in mode Observe."""


def losing(guard: Raw, high: float = 0.87) -> Change:
    """Dips that show a gain of at most so much, and what the status has of the guard."""
    return both(
        put("services", "items", 0, "status", "performance", to={"gainHigh": high, "dips": 214}),
        put("services", "items", 0, "status", "guard", to=guard),
    )


def put(*path: str | int, to: Any) -> Change:
    def change(raw: Any) -> None:
        for key in path[:-1]:
            raw = raw[key]
        raw[path[-1]] = to

    return change


def both(*changes: Change) -> Change:
    def change(raw: Raw) -> None:
        for each in changes:
            each(raw)

    return change


def says(kind: str, status: str, reason: str = "Why", message: str = "because") -> Change:
    said = {"type": kind, "status": status, "reason": reason, "message": message}

    def change(raw: Raw) -> None:
        raw["services"]["items"][0]["status"]["conditions"].append(said)

    return change


def asking(**spec: Any) -> Change:
    return put("services", "items", to=[service(**spec)])


def schema(raw: Raw) -> Raw:
    whole: Raw = raw["own_crd"]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return whole


_SIDECAR = {"source": {"pods": {"scheme": "HTTPS", "port": 8443}}}
_ENGINE_PORT: Raw = {"ports": [{"port": 8080}]}


def policy(way: str, *rules: Raw, selector: Raw | None = None) -> Raw:
    spec = {"podSelector": selector or {}, "policyTypes": [way], way.lower(): list(rules)}
    return {"metadata": {"name": "closed"}, "spec": spec}


def set_env(name: str, value: str) -> Change:
    def change(raw: Raw) -> None:
        raw["operators"]["items"][0]["spec"]["template"]["spec"]["containers"][0]["env"].append(
            {"name": name, "value": value}
        )

    return change


def sharded(shards: int, *held: str, replicas: int | None = None, stale: tuple[str, ...] = ()) -> Change:
    """An operator of so many shards, with these Leases."""
    found = [lease(name) for name in held] + [lease(name, renewed="2026-11-20T11:00:00Z") for name in stale]

    def change(raw: Raw) -> None:
        set_env("SPECDEC_SHARDS", str(shards))(raw)
        raw["operators"]["items"][0]["spec"]["replicas"] = shards if replicas is None else replicas
        raw["operators"]["items"][0]["status"]["availableReplicas"] = shards if replicas is None else replicas
        raw["leases"]["items"] = found

    return change


def _beside(*changes: Change) -> Change:
    def change(raw: Raw) -> None:
        raw["operators"]["items"].append(deployment(name="second"))
        for each in changes:
            each(raw)

    return change


def without_lease(raw: Raw) -> None:
    found = raw["operators"]["items"][0]["spec"]
    found["replicas"] = 2
    found["template"]["spec"]["containers"][0]["env"] = [{"name": "SPECDEC_LOG_LEVEL", "value": "INFO"}]


def quota(hard: Raw, used: Raw) -> Raw:
    return {"metadata": {"name": "q"}, "spec": {"hard": hard}, "status": {"hard": hard, "used": used}}


_OPERATOR = ("operators", "items", 0)
_CONTAINER = (*_OPERATOR, "spec", "template", "spec", "containers", 0)
_TEAM = ("spaces", "team")
IMAGE = ("controller", "spec", "template", "spec", "containers", 0, "image")
_RUNTIME = ("runtimes", "items", 1, "spec")
_DOWNLOADS = {"mode": "PersistentVolumeClaim", "claim": {"storage": "20Gi"}}
_BLOCK = {"from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}
_RESTRICTED = {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}

CASES: list[tuple[str, Change, tuple[str, ...]]] = [
    ("KubernetesOld", put("version", "minor", to="28+"), ("1.28", "1.29")),
    ("KServeMissing", put("kserve_crd", to=MISSING), ("no InferenceServices", "install KServe")),
    ("KServeNotServed", put("kserve_crd", "spec", "versions", 0, "served", to=False), ("serves no version",)),
    ("KServeOld", both(put(*IMAGE, to="kserve/controller:v0.15.2"), put("kserve_crd", to={})), ("0.15",)),
    (
        "KServeControllerMissing",
        put("controller", to=MISSING),
        ("kserve-controller-manager", "SPECDEC_KSERVE_NAMESPACE"),
    ),
    ("KServeControllerNotReady", put("controller", "status", to={}), ("describe pods",)),
    ("KServeConfigMissing", put("config", to=MISSING), ("inferenceservice-config",)),
    ("KServeMode", put("config", "data", "deploy", to='{"defaultDeploymentMode": "Knative"}'), ("Knative",)),
    ("CRDMissing", put("own_crd", to=MISSING), ("speculativeinferenceservices.serving.specdec.io", "kubectl apply")),
    ("CRDNotServed", put("own_crd", "spec", "versions", 0, "name", to="v2"), ("serves v2",)),
    ("CRDOlder", lambda raw: schema(raw)["properties"].pop("memory"), ("spec.memory", "kubectl apply")),
    ("CRDNewer", lambda raw: schema(raw)["properties"].update(new={"type": "string"}), ("spec.new",)),
    ("CRDDiffers", lambda raw: schema(raw)["properties"]["replicas"].update(maximum=2), ("spec.replicas",)),
    ("OperatorMissing", put("operators", "items", to=[]), ("no operator runs", "kubectl apply -k")),
    ("OperatorNotReady", put(*_OPERATOR, "status", to={}), ("kubectl -n specdec-system describe pods",)),
    (
        "OperatorNotReady",
        both(put(*_OPERATOR, "status", to={}), put(*_CONTAINER, "image", to=f"specdec-operator:{__version__}")),
        (f"its image specdec-operator:{__version__} names no registry", "--set registry="),
    ),
    ("TwoOperators", put("operators", "items", to=[deployment(), deployment("other")]), ("other/specdec-operator",)),
    ("TwoOperators", without_lease, ("2 pods", "--replicas=1")),
    ("OperatorOtherRelease", put(*_CONTAINER, "image", to="reg.io:5000/specdec-operator:v9.1.0"), ("release 9.1.0",)),
    ("NamespaceNotWatched", set_env("SPECDEC_NAMESPACES", "other"), ("no operator watches namespace team",)),
    ("NoLeader", put("leases", "items", to=[]), ("specdec-system/leader does not exist",)),
    (
        "NoLeader",
        put("leases", "items", 0, "spec", "renewTime", to="2026-11-20T11:59:00Z"),
        ("90 s ago", "is valid for 15 s"),
    ),
    ("NoLeader", put("leases", "items", 0, "spec", "holderIdentity", to=""), ("has no holder",)),
    ("NoLeader", sharded(2), ("no replica holds a shard", "leader-0 does not exist", "2 of 2 replicas are available")),
    ("NoLeader", sharded(2, stale=("leader-0", "leader-1")), ("no replica holds a shard", "logs deployment/")),
    (
        "ShardsFree",
        sharded(3, "leader-1", replicas=1),
        ("no replica holds leader-0, leader-2; 1 of 1 replicas are available for 3 shards", "--replicas=3"),
    ),
    ("ShardsFree", sharded(2, "leader-0", stale=("leader-1",)), ("no replica holds leader-1", "logs deployment/")),
    (
        "ShardsDiffer",
        sharded(2, "leader-0", "leader-1", "leader-2"),
        ("SPECDEC_SHARDS=2, and another replica holds the Lease leader-2", "--replicas=0, wait until no pod is left"),
    ),
    ("ShardsDiffer", sharded(2, "leader-0", "leader-1", "leader"), ("another replica holds the Lease leader:",)),
    ("ShardsDiffer", put("leases", "items", to=[lease(), lease("leader-1")]), ("SPECDEC_SHARDS=1", "Lease leader-1")),
    ("ShardsDiffer", _beside(sharded(2, "leader-0", "leader-1")), ("has SPECDEC_SHARDS=2", "second has 1")),
    (
        "NotAllowed",
        put("refused", to={("pods", "watch")}),
        ("may not watch pods in the whole cluster", "can-i watch"),
    ),
    (
        "NotAllowed",
        put("refused", to={("pods/eviction", "create")}),
        ("cannot restart pods", "can-i create pods --subresource=eviction"),
    ),
    (
        "NotAllowed",
        both(asking(staging=_DOWNLOADS), put("refused", to={("pods/log", "get")})),
        ("can-i get pods --subresource=log", "apply manifests/downloads (in the Helm chart: rbac.downloads=true)"),
    ),
    (
        "NotAllowed",
        both(asking(guard={"control": {"mode": "OnDoubt"}}), put("refused", to={("deployments", "patch")})),
        ("patch deployments.apps llama-predictor-plain in namespace team", "rbac.controlServices for single services"),
    ),
    (
        "NotAllowed",
        both(sharded(2, "leader-0", "leader-1"), put("refused", to={("leases", "update")})),
        ("update leases.coordination.k8s.io leader-0, leader-1", "can-i update leases.coordination.k8s.io/leader-0"),
    ),
    (
        "NotAllowed",
        both(asking(staging=_DOWNLOADS), put("refused", to={("persistentvolumeclaims", "create")})),
        ("persistentvolumeclaims", "cannot create PVCs"),
    ),
    ("PermissionsUnknown", put("reviews", to=DENIED), ("subjectaccessreviews",)),
    ("RuntimeMissing", asking(engine={"runtime": "mine", "accelerator": "cpu"}), ("mine", "spec.engine.runtime")),
    ("RuntimeMissing", put("runtimes", "items", to=[]), ("specdec-nvidia", "manifests/runtimes")),
    (
        "RuntimeMissing",
        set_env("SPECDEC_RUNTIMES", "nvidia=nvidia-2"),
        ("runtime nvidia-2", "manifests/runtimes"),
    ),
    (
        "NoRuntimes",
        both(set_env("SPECDEC_RUNTIMES", "cpu=c,nvidia=n,ascend=a"), put("services", "items", to=[])),
        ("none of n, a, c exists",),
    ),
    ("RuntimeDisabled", put(*_RUNTIME, "disabled", to=True), ("kubectl edit clusterservingruntime specdec-nvidia",)),
    ("RuntimeWithoutImage", put(*_RUNTIME, "containers", 0, "image", to=""), ("no image",)),
    ("RuntimeImageLocal", put(*_RUNTIME, "containers", 0, "image", to="specdec-runtime:nvidia"), ("push it",)),
    ("NoRuntimes", both(put("runtimes", "items", to=[]), put("services", "items", to=[])), ("specdec-cpu",)),
    ("NoNode", asking(pod={"nodeSelector": {"zone": "b"}}), ("1 of 1 nodes are ready", "nodeSelector")),
    ("NoNode", put("nodes", "items", 0, "spec", to={"unschedulable": True}), ("0 of 1 nodes",)),
    ("NoNode", put("nodes", "items", 0, "status", "conditions", 0, "status", to="Unknown"), ("0 of 1 nodes",)),
    ("NoDevice", asking(engine={"accelerator": "ascend"}), ("huawei.com/Ascend910", "they advertise nvidia.com/gpu")),
    ("NoDevice", put("nodes", "items", 0, "status", "allocatable", NVIDIA, to="0"), ("NVIDIA's device plugin",)),
    ("NoDevice", put("nodes", to={"items": [node(**{NVIDIA: "0", "nvidia.com/mig-1g.10gb": "7"})]}), ("mig-1g",)),
    ("TooFewDevices", asking(engine={"tensorParallelSize": 4}), ("4 nvidia.com/gpu", "more than 2")),
    (
        "DevicesUnhealthy",
        put("nodes", "items", 0, "status", "capacity", NVIDIA, to="8"),
        ("kubectl describe node gpu-1",),
    ),
    ("ArchitectureUnknown", put("nodes", "items", to=[node(arch="s390x")]), ("s390x",)),
    ("ArchitecturesMixed", put("nodes", "items", to=[node(), node("arm-1", arch="arm64")]), ("amd64 and arm64",)),
    (
        "MetricsUnread",
        says("GuardPassing", "Unknown", "ScrapeFailed", "2 pods returned no metrics in 60 s"),
        ("2 pods returned no metrics",),
    ),
    ("MetricsBlocked", put(*_TEAM, "policies", "items", to=[policy("Ingress")]), ("team (closed) block", "8080")),
    (
        "MetricsBlocked",
        both(asking(guard=_SIDECAR), put(*_TEAM, "policies", "items", to=[policy("Ingress", _ENGINE_PORT)])),
        ("on TCP port 8443",),
    ),
    ("MetricsBlocked", put("home", "policies", "items", to=[policy("Egress")]), ("specdec-system (closed) block",)),
    ("MetricsMayBeBlocked", put(*_TEAM, "policies", "items", to=[policy("Ingress", _BLOCK)]), ("may block",)),
    ("ClaimMissing", put(*_TEAM, "claims", "items", 0, "metadata", "name", to="model"), ("it has model",)),
    ("ClaimUnbound", put(*_TEAM, "claims", "items", 0, "status", "phase", to="Pending"), ("Pending", "slow")),
    ("PodSecurity", put(*_TEAM, "itself", "metadata", to=_RESTRICTED), ("runAsNonRoot: true", "=baseline")),
    (
        "PodSecurity",
        both(
            put(*_TEAM, "itself", "metadata", "labels", "pod-security.kubernetes.io/enforce", to="baseline"),
            put(*_RUNTIME, "hostIPC", to=True),
        ),
        ("no hostIPC",),
    ),
    ("QuotaFull", put(*_TEAM, "quotas", "items", to=[quota({"pods": "3"}, {"pods": "3"})]), ("3 of 3 pods", "Replace")),
    (
        "QuotaFull",
        put(*_TEAM, "quotas", "items", to=[quota({f"requests.{NVIDIA}": "1"}, {f"requests.{NVIDIA}": "1"})]),
        ("requests.nvidia.com/gpu",),
    ),
    ("ServiceUnseen", put("services", "items", 0, "status", to={}), ("no operator has handled",)),
    ("ServiceBehind", put("services", "items", 0, "metadata", "generation", to=4), ("generation 4", "status at 1")),
    ("ServiceUnreadable", put("services", "items", 0, "spec", "model", to={}), ("cannot read the spec",)),
    ("ServiceStalled", says("Stalled", "True", "InvalidSpec", "spec.x: no."), ("InvalidSpec: spec.x: no",)),
    ("ArtifactsNotStaged", says("ArtifactsStaged", "False", "ClaimNotFound"), ("ClaimNotFound",)),
    ("ServiceRolledBack", says("RolledBack", "True", "AcceptanceRateLow"), ("specdec retry llama -n team",)),
    (
        "LossObserved",
        losing({"would": WOULD}),
        ("team/llama in its engines is at most 0.87 (214 dips)", "specdec rollback llama -n team"),
    ),
    (
        "AcceptanceFalls",
        put("services", "items", 0, "status", "memory", to={"acceptanceByCacheUse": FALLING}),
        ("team/llama: the acceptance length falls from 3.80 to 2.60", "trained on long contexts"),
    ),
    (
        "EngineHangs",
        put("services", "items", 0, "status", "guard", to={"outages": [{"pod": "p-1", "reason": "Stalled"}]}),
        ("hung 1 time within a day, last in pod p-1", "SpecdecEngineHangs"),
    ),
    ("HangUnnoticed", says("Warned", "True", "HangUnnoticed", unnoticed_text("vllm")), ("add a livenessProbe",)),
    ("NotReadable", put("nodes", to=DENIED), ("you have no permission to list nodes", "verbs [list] on nodes")),
    ("NotAnswered", put("classes", to=BROKEN), ("storageclasses", "HTTP: no")),
    ("NotAllRead", put("nodes", "metadata", to={"continue": "more"}), ("only the first 1 nodes",)),
    ("NotAllRead", put("more_spaces", to=3), ("3 namespaces",)),
]
GAP = both(put(*IMAGE, to="kserve/controller:v0.16.0"), put("kserve_crd", to={}))
QUIET: dict[str, Change] = {
    "a claim that waits for its first pod": both(
        put(*_TEAM, "claims", "items", 0, "status", "phase", to="Pending"),
        put("classes", "items", 0, "volumeBindingMode", to="WaitForFirstConsumer"),
    ),
    "as many devices as the node has": asking(engine={"tensorParallelSize": 2}),
    "a quota with room": put(*_TEAM, "quotas", "items", to=[quota({"pods": "3"}, {"pods": "2"})]),
    "a policy of other pods": put(
        *_TEAM, "policies", "items", to=[policy("Ingress", selector={"matchLabels": {"app": "other"}})]
    ),
    "work under way": says("ArtifactsStaged", "False", "Downloading"),
    "KServe's old name of Standard": put("config", "data", "deploy", to='{"defaultDeploymentMode": "RawDeployment"}'),
    "two operators with namespaces of their own": both(
        set_env("SPECDEC_NAMESPACES", "team"),
        lambda raw: raw["operators"]["items"].append(deployment("other")),
        lambda raw: raw["operators"]["items"][1]["spec"]["template"]["spec"]["containers"][0]["env"].append(
            {"name": "SPECDEC_NAMESPACES", "value": "elsewhere"}
        ),
    ),
    "an operator that is scaled to nothing beside another": both(
        lambda raw: raw["operators"]["items"].append(deployment("old")),
        put("operators", "items", 1, "spec", "replicas", to=0),
    ),
    "a restricted namespace whose runtime keeps to it": both(
        put(*_TEAM, "itself", "metadata", "labels", "pod-security.kubernetes.io/enforce", to="restricted"),
        put(
            *_RUNTIME,
            "containers",
            0,
            "securityContext",
            to={
                "allowPrivilegeEscalation": False,
                "runAsNonRoot": True,
                "capabilities": {"drop": ["ALL"]},
                "seccompProfile": {"type": "RuntimeDefault"},
            },
        ),
    ),
    "a Prometheus instead of the pods": both(
        asking(guard={"source": {"prometheus": {"url": "http://prometheus:9090"}}}),
        put(*_TEAM, "policies", "items", to=[policy("Ingress")]),
    ),
    "dips that show a loss to a guard that may act": losing({"verdict": "Fail"}),
    "dips that show no loss": losing({"would": WOULD}, high=1.0),
    "a lower minimum of the user's": losing({"would": WOULD, "thresholds": {"speedup": 0.8}}),
    "a service that is a few seconds old": both(
        put("services", "items", 0, "status", to={}),
        put("services", "items", 0, "metadata", "creationTimestamp", to="2026-11-20T12:00:10Z"),
    ),
    "a replica for each shard": sharded(2, "leader-0", "leader-1"),
    "more replicas than shards": sharded(2, "leader-0", "leader-1", replicas=3),
    "Leases of an earlier number of shards": sharded(2, "leader-0", "leader-1", stale=("leader", "leader-2")),
    "Leases of others beside it": put("leases", "items", to=[lease(), lease("leader-x"), lease("leader-0-y")]),
    "words in the CRD for people": lambda raw: schema(raw)["properties"]["model"].update(description="other"),
}
