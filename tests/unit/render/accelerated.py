"""Specs for NPUs and GPUs whose whole InferenceServices are golden files, by the files' names."""

import pathlib
from typing import Any, Final

import yaml

Body = dict[str, Any]

SAMPLES: Final = pathlib.Path(__file__).parents[3] / "manifests" / "samples"


def sample(name: str) -> Body:
    document: Body = yaml.safe_load((SAMPLES / f"{name}.yaml").read_text(encoding="utf-8"))
    spec: Body = document["spec"]
    return spec


ASCEND: Final[dict[str, Body]] = {
    "ascend-eagle3": sample("ascend-eagle3"),
    "ascend-mtp-block-verify": {  # Huawei CCE has other device names; 25 requests of 5 tokens are an unusual size
        "model": {"uri": "pvc://models/deepseek-v3"},
        "speculation": {"method": "mtp", "tokens": 4, "ascend": {"blockVerify": True}},
        "engine": {
            "accelerator": "ascend",
            "tensorParallelSize": 8,
            "dataParallelSize": 2,
            "maxModelLen": 16384,
            "maxNumSeqs": 25,
            "args": ["--enable-expert-parallel", "--quantization=ascend"],
        },
        "resources": {
            "requests": {"huawei.com/ascend-1980": "16"},
            "limits": {"huawei.com/ascend-1980": "16"},
        },
        "pod": {"runtimeClassName": "ascend", "sharedMemory": "16Gi"},
    },
    "ascend-suffix": {
        "model": {"uri": "pvc://models/qwen3-8b"},
        "speculation": {"method": "suffix", "suffix": {"maxTreeDepth": 24}},
        "engine": {
            "accelerator": "ascend",
            "maxModelLen": 32768,
            "maxNumSeqs": 32,
            "env": [{"name": "HCCL_OP_EXPANSION_MODE", "value": "AI_CPU"}],
        },
    },
    "ascend-draft-model-tp": {
        "model": {"uri": "pvc://models/qwen3-32b"},
        "speculation": {
            "method": "draft_model",
            "tokens": 3,
            "draft": {"uri": "pvc://models/qwen3-0.6b", "tensorParallelSize": 4, "size": "1200Mi"},
        },
        "engine": {"accelerator": "ascend", "tensorParallelSize": 4, "maxModelLen": 32768, "maxNumSeqs": 64},
        "memory": {"device": "64Gi"},
    },
    "ascend-310p": {
        "model": {"uri": "pvc://models/qwen3-8b"},
        "speculation": {"method": "ngram", "tokens": 3},
        "engine": {
            "accelerator": "ascend",
            "image": "specdec-runtime:ascend-310p",
            "maxModelLen": 8192,
            "maxNumSeqs": 16,
            "enforceEager": True,
            "args": ["--dtype=float16"],
        },
        "resources": {"limits": {"huawei.com/Ascend310P": "1"}},
    },
}

NVIDIA: Final[dict[str, Body]] = {
    "nvidia-eagle3": sample("nvidia-eagle3"),
    "nvidia-dflash": {
        "model": {"uri": "oci://registry.example/qwen3-8b:1"},
        "speculation": {
            "method": "dflash",
            "tokens": 15,
            "draft": {"uri": "oci://registry.example/qwen3-8b-dflash:1"},
        },
        "engine": {"accelerator": "nvidia", "maxModelLen": 32768, "maxNumSeqs": 32},
        "resources": {"requests": {"cpu": "8", "memory": "64Gi"}, "limits": {"memory": "64Gi"}},
    },
    "nvidia-mig-ngram": {
        "model": {"uri": "pvc://models/qwen3-8b"},
        "speculation": {"method": "ngram", "tokens": 4, "ngram": {"lookupMin": 2, "lookupMax": 5}},
        "engine": {"accelerator": "nvidia", "maxModelLen": 8192},
        "resources": {"limits": {"nvidia.com/mig-3g.40gb": "1"}},
    },
}
