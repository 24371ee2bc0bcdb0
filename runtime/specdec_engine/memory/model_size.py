"""What memory a model takes: its weights, and its cache for one request, as far as its config.json shows it."""

from dataclasses import dataclass
from typing import Final

from specdec_engine.case import Json
from specdec_engine.shape import Parameters, Shape, count_all, number, read_shape, text_config

_HALF: Final = 2  # bytes of bfloat16 and float16, which --dtype auto serves in, float32 checkpoints included
_BITS: Final = {"fp8": 8.0, "fbgemm_fp8": 8.0, "mxfp8": 8.25, "mxfp4": 4.25, "nvfp4": 4.5}
"""Stored bits of a parameter by quant_method or quant_algo, scales included."""
_SCALES: Final = 0.25  # bits of scales and zero points for each parameter in groups of 128, rounded up


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """Bytes of a model's weights, by how devices share them.

    split: divided by tensor parallelism. experts: divided by expert parallelism. whole: on every device.
    """

    split: int
    experts: int = 0
    whole: int = 0
    estimated: bool
    source: str

    @property
    def total(self) -> int:
        """Bytes of one copy."""
        return self.split + self.experts + self.whole

    def share(self, tensor_parallel: int, pipeline_parallel: int = 1, expert_devices: int | None = None) -> int:
        """Bytes on one device, rounded up. expert_devices: None where experts follow tensor parallelism."""
        parts = self.split * (expert_devices or tensor_parallel) + self.experts * tensor_parallel
        divisor = tensor_parallel * (expert_devices or tensor_parallel) * pipeline_parallel
        return -(-parts // divisor) + self.whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache:
    """Keys and values, as the engine caches them.

    heads: None where one latent vector serves all heads, which every device keeps whole.
    entry: bytes of one head (or of the latent) for one token in one layer.
    """

    full: int
    windowed: int = 0
    window: int = 0
    heads: int | None
    entry: int

    def request(self, length: int, tensor_parallel: int, pipeline_parallel: int = 1) -> int:
        """Bytes that one request of `length` tokens takes on one device; heads are repeated beyond their number."""
        heads = 1 if self.heads is None else -(-self.heads // tensor_parallel)
        tokens = self.full * length + self.windowed * min(length, self.window or length)
        return -(-tokens * heads * self.entry // pipeline_parallel)

    @property
    def per_token(self) -> int:
        """Bytes of one token in all layers, on one device alone."""
        return self.request(1, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """A model as the memory plan sees it. None, or 0 for numbers: not known."""

    weights: Weights | None = None
    cache: Cache | None = None
    vocab: int = 0
    longest: int = 0


def model_facts(config: Json | None, *, weight_bytes: int | None = None, kv_cache_dtype: str = "auto") -> ModelFacts:
    """The facts of a model that is served whole. weight_bytes: of its weight files, if they were seen."""
    shape = read_shape(config)
    if config is None or shape is None:
        return ModelFacts(weights=None if weight_bytes is None else files(weight_bytes))
    return ModelFacts(
        weights=weights_of(text_config(config), count_all(shape), weight_bytes),
        cache=cache_of(shape, layers=shape.full, windowed=shape.windowed, kv_cache_dtype=kv_cache_dtype),
        vocab=shape.vocab,
        longest=shape.longest,
    )


def files(weight_bytes: int) -> Weights:
    """The weights of a checkpoint about which only its size is known."""
    return Weights(split=weight_bytes, estimated=False, source="size of the weight files")


def weights_of(config: Json, counted: Parameters, weight_bytes: int | None = None) -> Weights:
    """Weights from the size of their files, or else from the parameters that the config implies."""
    bits = quantised_bits(config)
    linear = bits if bits is not None and not _experts_only(config) else _HALF * 8
    experts = int(counted.experts * (bits or _HALF * 8) / 8)
    split = int(counted.linear * linear / 8) + counted.embeddings * _HALF
    if weight_bytes is None:
        return Weights(split=split, experts=experts, estimated=True, source="estimate from the sizes in config.json")
    loaded = weight_bytes // 2 if _dtype(config) == "float32" and bits is None else weight_bytes
    routed = loaded * experts // (split + experts)
    source = "size of the weight files" + (", in 16 bits" if loaded < weight_bytes else "")
    return Weights(split=loaded - routed, experts=routed, estimated=False, source=source)


def cache_of(shape: Shape, *, layers: int, windowed: int = 0, kv_cache_dtype: str = "auto") -> Cache:
    """The cache of some of a model's layers."""
    element = {"float32": 4, "auto": _HALF, "bfloat16": _HALF, "float16": _HALF}.get(kv_cache_dtype, 1)
    latent = shape.latent
    if latent is None:
        entry = 2 * shape.head_dim * element
        return Cache(full=layers, windowed=windowed, window=shape.window, heads=shape.kv_heads, entry=entry)
    # The sparse indexer keeps one byte an element and a 4-byte scale for each 128 of them.
    index = latent.index + 4 * -(-latent.index // 128)
    return Cache(full=layers, heads=None, entry=(latent.kv_rank + latent.rope) * element + index)


def quantised_bits(config: Json) -> float | None:
    """Stored bits of a quantised parameter; None for 16 bits, and where the scheme is not known (an upper bound)."""
    quantisation = config.get("quantization_config")
    if not isinstance(quantisation, dict):
        return None
    if isinstance(kept := quantisation.get("kept_bits"), int | float):
        return float(kept)  # of a config of which only this is kept, see facts.py
    names = (str(quantisation.get(key, "")).lower() for key in ("quant_algo", "quant_method"))
    if stored := next((_BITS[word] for word in names if word in _BITS), None):
        return stored
    if bits := number(quantisation, "bits", "w_bit") or _group_bits(quantisation.get("config_groups")):
        return bits + (_SCALES if bits < 8 else 0)
    loads = {"load_in_4bit": 4 + _SCALES, "load_in_8bit": 8.0}
    return next((bits for key, bits in loads.items() if quantisation.get(key) is True), None)


def _group_bits(groups: object) -> int:
    """compressed-tensors: the widest weights of its groups; 0 where it names none."""
    values = groups.values() if isinstance(groups, dict) else ()
    weights = (group.get("weights") for group in values if isinstance(group, dict))
    return max((number(each, "num_bits") for each in weights if isinstance(each, dict)), default=0)


def _experts_only(config: Json) -> bool:
    """mxfp4 checkpoints quantise their experts and nothing else."""
    quantisation = config.get("quantization_config")
    return isinstance(quantisation, dict) and quantisation.get("quant_method") == "mxfp4"


def _dtype(config: Json) -> str:
    return str(config.get("dtype") or config.get("torch_dtype") or "")
