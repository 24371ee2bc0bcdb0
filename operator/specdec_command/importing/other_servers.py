"""Engines and model formats that are not vLLM's: an import of them would serve something else."""

import re
from collections.abc import Mapping
from typing import Any, Final

_NOT_LANGUAGE: Final = frozenset(
    {
        *("sklearn", "xgboost", "lightgbm", "catboost", "pmml", "paddle", "mlflow", "spark", "keras", "h2o"),
        *("tensorflow", "onnx", "tensorrt", "triton", "openvino", "openvino_ir", "torchscript", "mlserver", "alibi"),
        *("custom-model", "pytorch", "fastai", "prophet", "statsmodels", "caikit", "tensorrt-llm"),
    }
)
"""Model formats of KServe and its runtimes that vLLM does not serve."""
_PREDICTORS: Final = ("sklearn", "xgboost", "lightgbm", "pmml", "paddle", "onnx", "tensorflow", "triton", "pytorch")
"""Fields of the predictor that name a server, from before `model`."""
_SERVERS: Final = re.compile(
    r"sglang|text-generation-(?:inference|launcher)|\btgi\b|tritonserver|tensorrt[-_]?llm|trtllm|ollama|llama[.-]?cpp|"
    r"llama-server|lmdeploy|aphrodite|openvino|torchserve|mlserver|sklearnserver|xgbserver|lgbserver|infinity-emb|"
    r"text-embeddings-(?:inference|router)"
)
_VLLM: Final = re.compile(r"vllm|huggingfaceserver")


def other_server(predictor: Mapping[str, Any], container: Mapping[str, Any]) -> str:
    """Why the engine of a predictor is not vLLM; empty if it could be."""
    for name in _PREDICTORS:
        if name in predictor:
            return f"spec.predictor.{name}: {_rule(name)}"
    if names_vllm(container):
        return ""
    if found := _SERVERS.search(_text(container)):
        return f"{found[0]} is another server than vLLM, and a service runs vLLM"
    model_format = container.get("modelFormat")
    name = str(model_format.get("name", "")) if isinstance(model_format, Mapping) else ""
    return f"spec.predictor.model.modelFormat: {_rule(name)}" if name.lower() in _NOT_LANGUAGE else ""


def names_vllm(container: Mapping[str, Any]) -> bool:
    """Whether the image or the command line of a container names vLLM, or KServe's server that runs it."""
    return _VLLM.search(_text(container)) is not None


def _text(container: Mapping[str, Any]) -> str:
    lists = [container.get(name) for name in ("command", "args")]
    words = [str(word) for each in lists if isinstance(each, list) for word in each]
    return " ".join((str(container.get("image", "")), *words)).lower()


def _rule(name: str) -> str:
    return f"model format {name} is not a language model that vLLM serves"
