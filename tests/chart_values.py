"""Sets of values with which the chart is looked at: golden files, and dry runs against a real API server."""

from typing import Any, Final

CASES: Final[dict[str, dict[str, Any]]] = {
    "default": {},
    "everything": {
        "registry": "registry.example/team",
        "image.digest": "sha256:" + "0" * 64,
        "imagePullSecrets": [{"name": "registry"}],
        "replicas": 2,
        "leaderElection.enabled": True,
        "serviceAccount.annotations": {"note": "x"},
        "kserve": {"namespace": "kserve-system", "version": "0.20", "storageInitializer": "registry.example/init:1"},
        "logLevel": "DEBUG",
        "prometheusUrls": ["http://prometheus.monitoring:9090"],
        "web": {"enabled": True, "address": "0.0.0.0", "hosts": ["specdec.example"]},
        "extraEnv": [{"name": "HTTPS_PROXY", "value": "http://proxy.example:3128"}],
        "podLabels": {"team": "a"},
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [{"key": "infra", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
        "priorityClassName": "system-cluster-critical",
        "networkPolicy.enabled": True,
        "monitoring.serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
        "monitoring.engines.enabled": True,
        "monitoring.rules.enabled": True,
        "monitoring.dashboards.enabled": True,
        "runtimes.cpu.kvCacheGiB": 8,
        "test.waitForReady": True,
    },
    "namespaced": {
        "namespaces": ["team-a", "team-b"],
        "rbac.downloads": False,
        "crds.keep": False,
        "runtimes.keep": False,
        "runtimes.nvidia.enabled": False,
        "runtimes.ascend.enabled": False,
    },
    "sharded": {
        "shards": 3,
        "crds.install": False,
        "runtimes.cpu.enabled": False,
        "runtimes.nvidia.enabled": False,
        "runtimes.ascend.enabled": False,
    },
}
