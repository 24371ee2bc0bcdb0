"""An InferenceService of another owner on real pods: its runtime starts vLLM, the operator renders nothing of it."""

import json
import shlex

from hack import images

from tests.wire.api import ISVC, Object

CONFIG = json.dumps({"method": "draft_model", "num_speculative_tokens": 4, "model": "/mnt/models/draft"})
FLAG = f"--speculative-config={CONFIG}"
RUNTIME = "serving.kserve.io/v1alpha1", "servingruntimes"
OFFLINE = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}
ENV = {"VLLM_ENABLE_V1_MULTIPROCESSING": "0", "OMP_NUM_THREADS": "1", "VLLM_CPU_KVCACHE_SPACE": "1"} | OFFLINE


def runtime(name: str) -> Object:
    """A platform's own runtime: vLLM's server as its image has it, and nothing of the operator's."""
    container = {
        "name": "kserve-container",
        "image": images.refs().runtime,
        "command": ["python3", "-m", "vllm.entrypoints.openai.api_server"],
        "ports": [{"containerPort": 8080}],
        "lifecycle": {"preStop": {"exec": {"command": ["sleep", "15"]}}},  # until no Service sends anything here
        "readinessProbe": {"httpGet": {"path": "/health", "port": 8080}, "periodSeconds": 2, "failureThreshold": 3},
    }
    formats = [{"name": "huggingface", "version": "1", "autoSelect": False}]
    spec = {"supportedModelFormats": formats, "containers": [container]}
    return {"apiVersion": RUNTIME[0], "kind": "ServingRuntime", "metadata": {"name": f"{name}-vllm"}, "spec": spec}


def as_script(args: list[str]) -> Object:
    """The same in a script for a shell, with characters that an API server escapes in JSON, as part of a template."""
    words = shlex.join([*args, "--chat-template={% raw %}<|im_end|> && <{% endraw %}"])
    program = "exec python3 -m vllm.entrypoints.openai.api_server"
    return {"command": ["bash", "-c"], "args": [f"cd /tmp && {program} {words}"]}


def isvc(name: str) -> Object:
    """An InferenceService of that runtime, as its owner wrote it."""
    model = {
        "modelFormat": {"name": "huggingface"},
        "runtime": f"{name}-vllm",
        "args": [
            *("--model=/mnt/models/target", f"--served-model-name={name}", "--port=8080", "--max-model-len=1024"),
            *("--enforce-eager", "--distributed-executor-backend=uni", "--shutdown-timeout=10", FLAG),
        ],
        "env": [{"name": each, "value": value} for each, value in ENV.items()],
        "volumeMounts": [{"name": "models", "mountPath": "/mnt/models", "readOnly": True}],
    }
    volume = {"name": "models", "persistentVolumeClaim": {"claimName": "models", "readOnly": True}}
    standard = {"serving.kserve.io/deploymentMode": "Standard", "serving.kserve.io/autoscalerClass": "none"}
    leave = {"specdec.io/enforce": "true"}  # from the beginning: KServe replaces pods for an annotation
    predictor = {
        "model": model,
        "volumes": [volume],
        "minReplicas": 1,
        "maxReplicas": 1,
        "deploymentStrategy": {"type": "Recreate"},
    }
    return {
        "apiVersion": ISVC[0],
        "kind": "InferenceService",
        "metadata": {"name": name, "annotations": standard | leave},
        "spec": {"predictor": predictor},
    }
