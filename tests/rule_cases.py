"""Each rule of the CRD with a spec that it refuses and a similar one that it accepts.

tests/unit runs the offline check of `specdec validate`, tests/wire a real API server: both must give the same result.
"""

from dataclasses import dataclass
from typing import Any, Final

Spec = dict[str, Any]

DRAFT: Final[Spec] = {"method": "draft_model", "tokens": 4, "draft": {"uri": "pvc://models/draft"}}
NGRAM: Final[Spec] = {"method": "ngram", "tokens": 4}
STATES: Final[Spec] = {
    "method": "extract_hidden_states",
    "tokens": 1,
    "hiddenStates": {"layers": [1, 2], "path": "/var/hidden"},
}
GUEST: Final[Spec] = {"model": None, "inferenceServiceRef": {"name": "theirs"}}
_ONE: Final = "set exactly one of model, inferenceServiceRef, deploymentRef"
_THEIRS: Final = (
    "the guarded object defines how it is served: remove speculation, staging, resources, pod, inferenceService, "
    "autoscaling, replicas and engine"
)
CUSTOM: Final[Spec] = {"method": "custom_class", "tokens": 2, "customClass": "mine.Proposer"}
_SHAPE: Final = (
    "must be pvc://PVC/FOLDER, hf://OWNER/MODEL:REVISION, s3:// or gs://BUCKET/FOLDER, "
    "https://HOST/PATH, oci:// or oci+native://IMAGE:TAG"
)
_ONCE: Final[Spec] = {"mode": "PersistentVolumeClaim", "claim": {"storage": "20Gi"}}
_PATTERNS: Final = (
    "patterns need mode PersistentVolumeClaim: in other modes KServe downloads, and reads patterns only from the "
    "environment of a ClusterStorageContainer"
)
_STATES_VOLUME: Final[Spec] = {"volumes": [{"name": "states", "emptyDir": {}}]}
_ZONE: Final[Spec] = {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}
_BY: Final[Spec] = {"type": "External", "external": {"metric": {"query": "sum(waiting)"}}}
_KEDA: Final[Spec] = {"autoscalerClass": "keda", "maxReplicas": 4, "metrics": [_BY]}
_LATER: Final = "yet; remove it"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleCase:
    """message: the rule's own, or its end; field: the path that the API server names; bad, good: two specs."""

    message: str
    field: str
    bad: Spec
    good: Spec


def _scaled(message: str, field: str, bad: Spec, good: Spec) -> RuleCase:
    """A rule of spec.autoscaling."""
    place = f"spec.autoscaling{field}"
    return RuleCase(message=message, field=place, bad={"autoscaling": bad}, good={"autoscaling": good})


def _speculation(message: str, field: str, bad: Spec, good: Spec) -> RuleCase:
    return RuleCase(
        message=message, field=f"spec.speculation{field}", bad={"speculation": bad}, good={"speculation": good}
    )


def _uri(message: str, bad: str, good: str) -> RuleCase:
    return RuleCase(message=message, field="spec.model.uri", bad={"model": {"uri": bad}}, good={"model": {"uri": good}})


def _staging(message: str, field: str, bad: Spec, good: Spec) -> RuleCase:
    return RuleCase(message=message, field=f"spec.staging{field}", bad={"staging": bad}, good={"staging": good})


def _guard(message: str, field: str, bad: Spec, good: Spec) -> RuleCase:
    return RuleCase(message=message, field=f"spec.guard{field}", bad={"guard": bad}, good={"guard": good})


def _pod(message: str, field: str, bad: Spec, good: Spec) -> RuleCase:
    return RuleCase(message=message, field=f"spec.pod{field}", bad={"pod": bad}, good={"pod": good})


def _mounted(path: str, **more: str) -> Spec:
    return _STATES_VOLUME | {"volumeMounts": [{"name": "states", "mountPath": path, **more}]}


def _rows(*rows: tuple[int | None, int]) -> Spec:
    steps = [{"tokens": tokens} | ({} if up_to is None else {"upTo": up_to}) for up_to, tokens in rows]
    return DRAFT | {"tokensByBatchSize": steps}


CASES: Final = (
    _uri(_SHAPE, "http://host/x", "https://host/x.tar"),
    _uri(_SHAPE, "hf://llama", "hf://meta-llama/Llama-3.1-8B-Instruct:main"),
    _uri(_SHAPE, "pvc://", "pvc://models"),
    _uri(
        "an image needs a tag or a digest: without one the pods of a service may get different models",
        "oci://registry.example:5000/llama",
        "oci+native://registry.example:5000/llama@sha256:0a",
    ),
    _uri(
        ("'.' and '..' are not allowed in a folder of an artifact: write the URI without them"),
        "s3://b/../x",
        "s3://b/..x/x..",
    ),
    _uri(
        "every user who can read this object would see the key; use a Secret instead",
        "https://me:key@host/x.zip",
        "https://host/x@1.zip",
    ),
    RuleCase(
        message="'.' and '..' are not allowed in a folder of an artifact",
        field="spec.model.path",
        bad={"model": {"uri": "pvc://models", "path": "x/.."}},
        good={"model": {"uri": "pvc://models", "path": "x/..."}},
    ),
    RuleCase(
        message="set uri, or path inside the target's artifact",
        field="spec.model.adapters[0]",
        bad={"model": {"uri": "pvc://models", "path": "x", "adapters": [{"name": "a"}]}},
        good={"model": {"uri": "pvc://models", "path": "x", "adapters": [{"name": "a", "path": "a"}]}},
    ),
    _speculation(_SHAPE, ".draft.uri", DRAFT | {"draft": {"uri": "models/draft"}}, DRAFT),
    _speculation(
        "mlp_speculator is in vLLM's list of methods, but has never worked in its V1 engine; use an eagle3 head",
        ".method",
        {"method": "mlp_speculator", "tokens": 3},
        {"method": "mtp", "tokens": 3},
    ),
    _speculation(
        "methods draft_model, eagle, eagle3, medusa and dflash need a draft",
        ".draft",
        {"method": "eagle3", "tokens": 3},
        DRAFT | {"method": "eagle3"},
    ),
    _speculation(
        "methods ngram, ngram_gpu, suffix, extract_hidden_states and custom_class take no draft",
        ".draft",
        DRAFT | {"method": "ngram"},
        NGRAM,
    ),
    _speculation(
        "set uri, or path inside the target's artifact",
        ".draft",
        DRAFT | {"draft": {"maxModelLen": 128}},
        DRAFT | {"draft": {"path": "draft"}},
    ),
    _speculation(
        "set tokens (K, the number of tokens guessed per step); only suffix and dspark have a default",
        ".tokens",
        {"method": "ngram"},
        {"method": "suffix"},
    ),
    _speculation(
        "extract_hidden_states writes one position per step: tokens must be 1",
        ".tokens",
        STATES | {"tokens": 2},
        STATES,
    ),
    _speculation(
        "ngram is only for method ngram", ".ngram", DRAFT | {"ngram": {}}, NGRAM | {"ngram": {"lookupMax": 4}}
    ),
    _speculation(
        "lookupMin must be <= lookupMax",
        ".ngram.lookupMin",
        NGRAM | {"ngram": {"lookupMin": 6}},
        NGRAM | {"ngram": {"lookupMin": 5}},
    ),
    _speculation(
        "suffix is only for method suffix", ".suffix", NGRAM | {"suffix": {}}, {"method": "suffix", "suffix": {}}
    ),
    _speculation(
        "set hiddenStates with method extract_hidden_states, and only with it",
        ".hiddenStates",
        {"method": "extract_hidden_states", "tokens": 1},
        STATES,
    ),
    _speculation(
        "set customClass with method custom_class, and only with it",
        ".customClass",
        NGRAM | {"customClass": "mine.Proposer"},
        CUSTOM,
    ),
    _speculation(
        "parallelDrafting needs a draft that was trained for it, with method eagle3 (P-EAGLE) or draft_model (PARD)",
        ".parallelDrafting",
        NGRAM | {"parallelDrafting": True},
        DRAFT | {"parallelDrafting": True},
    ),
    _speculation(
        "heterogeneousVocabulary works with method draft_model and draftSampling Greedy",
        ".heterogeneousVocabulary",
        DRAFT | {"heterogeneousVocabulary": True, "draftSampling": "Probabilistic"},
        DRAFT | {"heterogeneousVocabulary": True, "draftSampling": "Greedy"},
    ),
    _speculation(
        "tokens in a row of tokensByBatchSize must not be above spec.speculation.tokens",
        ".tokensByBatchSize",
        _rows((8, 5)),
        _rows((8, 4)),
    ),
    _speculation(
        "upTo is required in each row except the last",
        ".tokensByBatchSize",
        _rows((None, 4), (8, 1)),
        _rows((8, 4), (None, 1)),
    ),
    _speculation("rows must be in order of upTo", ".tokensByBatchSize", _rows((8, 4), (4, 1)), _rows((4, 4), (8, 1))),
    _speculation("two rows have the same upTo", ".tokensByBatchSize", _rows((8, 4), (8, 1)), _rows((8, 4), (9, 1))),
    RuleCase(
        message="on Ascend NPUs 1 + tokens must be <= 16: the limit of their attention kernels",
        field="spec.speculation.tokens",
        bad={"speculation": DRAFT | {"tokens": 16}, "engine": {"accelerator": "ascend"}},
        good={"speculation": DRAFT | {"tokens": 15}, "engine": {"accelerator": "ascend"}},
    ),
    RuleCase(
        message="speculation.ascend needs engine.accelerator ascend: only vllm-ascend has this verification",
        field="spec.speculation.ascend",
        bad={"speculation": DRAFT | {"ascend": {"blockVerify": True}}},
        good={"speculation": DRAFT | {"ascend": {"blockVerify": True}}, "engine": {"accelerator": "ascend"}},
    ),
    RuleCase(
        message="--data-parallel-size, --max-model-len, --max-num-seqs, --enforce-eager, --config",
        field="spec.engine.args",
        bad={"engine": {"args": ["--seed=1", "--model=x"]}},
        good={"engine": {"args": ["--seed=1", "--models=x"]}},
    ),
    _guard(
        "set exactly one of prometheus and pods",
        ".source",
        {"source": {"prometheus": {"url": "http://prometheus:9090"}, "pods": {"port": 9000}}},
        {"source": {"pods": {"port": 9000}}},
    ),
    _guard("set exactly one of prometheus and pods", ".source", {"source": {}}, {"source": {"pods": {}}}),
    _guard(
        "serverName, caConfigMap and tokenSecret need scheme HTTPS: over HTTP a token could be read on the way",
        ".source.pods.scheme",
        {"source": {"pods": {"tokenSecret": {"name": "metrics", "key": "token"}}}},
        {"source": {"pods": {"scheme": "HTTPS", "tokenSecret": {"name": "metrics", "key": "token"}}}},
    ),
    _guard("interval must be at least 1s", ".interval", {"interval": "999ms"}, {"interval": "1s"}),
    _guard(
        "window must be at least one interval",
        ".window",
        {"interval": "1m", "window": "59s"},
        {"interval": "1m", "window": "1m"},
    ),
    _guard(
        "response must be [RollBack] or [ReduceTokens, RollBack]: the last step is always a rollback",
        ".response",
        {"response": ["ReduceTokens"]},
        {"response": ["ReduceTokens", "RollBack"]},
    ),
    _guard(
        "after must be at least 1s, because each retry replaces all pods",
        ".retry.after",
        {"retry": {"after": "500ms", "limit": 3}},
        {"retry": {"after": "6h", "limit": 3}},
    ),
    _guard(
        "max must be more than 0s, because otherwise every window fails",
        ".timePerOutputToken.max",
        {"timePerOutputToken": {"max": "0s"}},
        {"timePerOutputToken": {"max": "40ms"}},
    ),
    _guard(
        "mode is Off, so the guard compares nothing; remove speedup, or set mode Observe or Enforce",
        ".speedup",
        {"mode": "Off", "speedup": {"min": 1}},
        {"mode": "Observe", "speedup": {"min": 1}},
    ),
    _staging(
        "mode PersistentVolumeClaim downloads into a PVC that the operator creates: set `claim.storage`",
        ".claim",
        {"mode": "PersistentVolumeClaim"},
        _ONCE,
    ),
    _staging(
        "`claim` needs mode PersistentVolumeClaim",
        ".claim",
        {"mode": "StorageUris", "claim": {"storage": "20Gi"}},
        _ONCE | {"claim": {"storage": "20Gi", "storageClassName": "fast", "accessModes": ["ReadWriteMany"]}},
    ),
    _staging(
        "env needs mode PersistentVolumeClaim; KServe's own download uses the credentials in the secrets of "
        "pod.serviceAccountName",
        ".env",
        {"env": [{"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}}]},
        _ONCE | {"env": [{"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}}]},
    ),
    _staging(_PATTERNS, ".include", {"include": ["*.json"]}, _ONCE | {"include": ["*.json"]}),
    _staging(_PATTERNS, ".exclude", {"mode": "Modelcar", "exclude": ["*.bin"]}, _ONCE | {"exclude": ["*.bin"]}),
    RuleCase(
        message="even an idle pod needs some seconds to stop, and the drain of a node waits for it",
        field="spec.rollout.grace",
        bad={"rollout": {"grace": "5s"}},
        good={"rollout": {"grace": "15s"}},
    ),
    RuleCase(
        message="set those of KServe's own download in its ClusterStorageContainer",
        field="spec.staging.resources",
        bad={"staging": {"resources": {"limits": {"memory": "1Gi"}}}},
        good={
            "staging": {
                "mode": "PersistentVolumeClaim",
                "claim": {"storage": "1Gi"},
                "resources": {"limits": {"memory": "1Gi"}},
            }
        },
    ),
    RuleCase(
        message="strategy Surge never stops old pods first, and strategy Replace needs no room",
        field="spec.rollout.whenNoRoom",
        bad={"rollout": {"strategy": "Surge", "whenNoRoom": "Replace"}},
        good={"rollout": {"strategy": "Surge", "whenNoRoom": "Wait"}},
    ),
    _pod(
        "a volume must have exactly one source: emptyDir, configMap, secret, projected, persistentVolumeClaim, csi, "
        "ephemeral; hostPath is not allowed",
        ".volumes[0]",
        {"volumes": [{"name": "states"}]},
        _STATES_VOLUME,
    ),
    _pod(
        "this name or its prefix is reserved for the operator, KServe or a runtime; choose another",
        ".volumes[0].name",
        {"volumes": [{"name": "specdec-target", "emptyDir": {}}]},
        {"volumes": [{"name": "specdec", "emptyDir": {}}]},
    ),
    _pod(
        "two entries have the same name",
        ".volumes",
        {"volumes": [{"name": "a", "emptyDir": {}}, {"name": "a", "configMap": {"name": "x"}}]},
        {"volumes": [{"name": "a", "emptyDir": {}}, {"name": "b", "configMap": {"name": "x"}}]},
    ),
    _pod(
        "a mount must name one of pod.volumes; volumes of the runtime and of KServe are not allowed",
        ".volumeMounts",
        {"volumeMounts": [{"name": "shm", "mountPath": "/states"}]},
        _mounted("/states"),
    ),
    _pod(
        "two entries have the same mountPath",
        ".volumeMounts",
        _STATES_VOLUME | {"volumeMounts": [{"name": "states", "mountPath": "/a"}] * 2},
        _STATES_VOLUME | {"volumeMounts": [{"name": "states", "mountPath": f"/{each}"} for each in "ab"]},
    ),
    _pod(
        "'.', '..' and '//' are not allowed in a path: write the path without them",
        ".volumeMounts[0].mountPath",
        _mounted("/states/../mnt/target"),
        _mounted("/states/..a/.b"),
    ),
    _pod(
        "/mnt/models, /mnt/specdec, /dev, /proc, /sys); choose another, such as /states",
        ".volumeMounts[0].mountPath",
        _mounted("/mnt/target/model"),
        _mounted("/mnt/targets"),
    ),
    _pod(
        "'.', '..' and '//' are not allowed in a path",
        ".volumeMounts[0].subPath",
        _mounted("/states", subPath="a/.."),
        _mounted("/states", subPath="a/..b"),
    ),
    _pod(
        "two entries have the same topologyKey",
        ".topologySpreadConstraints",
        {"topologySpreadConstraints": [_ZONE, _ZONE]},
        {"topologySpreadConstraints": [_ZONE, _ZONE | {"topologyKey": "host"}]},
    ),
    _pod(
        "set localhostProfile with type Localhost, and only with it",
        ".securityContext.seccompProfile.localhostProfile",
        {"securityContext": {"seccompProfile": {"type": "Localhost"}}},
        {"securityContext": {"seccompProfile": {"type": "Localhost", "localhostProfile": "engine.json"}}},
    ),
    RuleCase(
        message="the operator's runtimes listen on 8080: remove port, or set runtime to your own runtime",
        field="spec.engine.port",
        bad={"engine": {"port": 8000}},
        good={"engine": {"port": 8000, "runtime": "mine"}},
    ),
    RuleCase(message=_LATER, field="spec.suspend", bad={"suspend": True}, good={"suspend": False}),
    RuleCase(
        message=f"{_ONE}: the model to serve, or the object to guard", field="spec", bad={"model": None}, good=GUEST
    ),
    RuleCase(message=_ONE, field="spec", bad={"deploymentRef": {"name": "theirs"}}, good=GUEST),
    _scaled(
        "with class external your own scaler sets the number of pods of Deployment NAME-predictor: remove the other "
        "fields",
        "",
        {"autoscalerClass": "external", "maxReplicas": 4},
        {"autoscalerClass": "external"},
    ),
    _scaled(
        "an autoscaler needs an upper limit: set maxReplicas, within your quota and devices",
        ".maxReplicas",
        {"minReplicas": 2},
        {"minReplicas": 2, "maxReplicas": 2},
    ),
    _scaled(
        "minReplicas must not be above maxReplicas",
        ".minReplicas",
        {"minReplicas": 3, "maxReplicas": 2},
        {"minReplicas": 2, "maxReplicas": 3},
    ),
    _scaled(
        "only KEDA scales to zero: with class hpa at least one pod stays, so minReplicas is 1 or more",
        ".minReplicas",
        {"minReplicas": 0, "maxReplicas": 2},
        _KEDA | {"minReplicas": 0},
    ),
    _scaled(
        "KEDA uses only metrics: set metrics instead of scaleMetric and scaleTarget",
        ".metrics",
        _KEDA | {"scaleTarget": 50},
        _KEDA,
    ),
    _scaled(
        "KEDA needs a metric: set metrics, in the format of KServe's predictor.autoScaling.metrics",
        ".metrics",
        _KEDA | {"metrics": []},
        _KEDA,
    ),
    _scaled(
        "KServe's HPA has no behavior field; use class keda, or class external with your own HPA",
        ".behavior",
        {"maxReplicas": 4, "behavior": {"scaleDown": {"stabilizationWindowSeconds": 60}}},
        _KEDA | {"behavior": {"scaleDown": {"stabilizationWindowSeconds": 60}}},
    ),
    _scaled(
        "if metrics is set, KServe ignores scaleMetric, scaleTarget and scaleMetricType: remove them",
        ".metrics",
        {"maxReplicas": 4, "metrics": [_BY], "scaleTarget": 60},
        {"maxReplicas": 4, "metrics": [_BY]},
    ),
    _scaled(
        "KServe has no default target for memory and would scale by CPU: set scaleTarget, in percent of the request",
        ".scaleTarget",
        {"maxReplicas": 4, "scaleMetric": "memory"},
        {"maxReplicas": 4, "scaleMetric": "memory", "scaleTarget": 70},
    ),
    RuleCase(
        message="spec.autoscaling sets the number of pods: remove replicas, or remove autoscaling",
        field="spec.replicas",
        bad={"autoscaling": {"maxReplicas": 4}, "replicas": 2},
        good={"autoscaling": {"maxReplicas": 4}, "replicas": 1},
    ),
    RuleCase(message=_THEIRS, field="spec", bad=GUEST | {"speculation": NGRAM}, good=GUEST),
    RuleCase(message=_THEIRS, field="spec.replicas", bad=GUEST | {"replicas": 2}, good=GUEST | {"replicas": 1}),
    RuleCase(
        message="the operator does not change the flags of a Deployment: with deploymentRef set mode Observe or Off",
        field="spec.guard.mode",
        bad={"model": None, "deploymentRef": {"name": "theirs"}, "guard": {"mode": "Enforce"}},
        good=GUEST | {"guard": {"mode": "Enforce"}},
    ),
)


def whole(spec: Spec) -> Spec:
    """The spec with a model, unless it sets the model to null."""
    every = {"model": {"uri": "pvc://models/target"}} | spec
    return {name: part for name, part in every.items() if part is not None}
