"""Model families, and the drafts that are known to exist for them."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A published draft. method: that runs it; name: on the Hugging Face hub; target: the model it is made for."""

    method: str
    name: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """One family of targets.

    also: other names that mean it. model_types: as config.json spells them.
    architectures: where the model type is another family's.
    mtp_heads: tokens that its own heads guess; 0: it has none, or they are a checkpoint of their own.
    trained: methods for which drafts of this family exist, though no checkpoint is named here.
    """

    name: str
    also: tuple[str, ...] = ()
    model_types: tuple[str, ...]
    architectures: tuple[str, ...] = ()
    mtp_heads: int = 0
    known: tuple[Checkpoint, ...] = ()
    trained: tuple[str, ...] = ()
    note: str = ""


_MTP_ONLY: Final = (
    ("glm-5", ("glm_moe_dsa",)),
    ("glm-4.5", ("glm4_moe", "glm4_moe_lite")),
    ("qwen3-next", ("qwen3_next",)),
    ("qwen3.5", ("qwen3_5", "qwen3_5_moe", "qwen3_5_text", "qwen3_5_moe_text")),
    ("ernie-4.5", ("ernie4_5_moe",)),
    ("exaone-moe", ("exaone_moe",)),
    ("longcat-flash", ("longcat_flash",)),
    ("pangu-ultra-moe", ("pangu_ultra_moe",)),
    ("step-3.5", ("step3p5",)),
    ("minimax-m3", ("minimax_m3",)),
)

_ALSO: Final = MappingProxyType({"glm-4.5": ("glm-4.6", "glm-4.7")})

FAMILIES: Final = (
    Family(
        name="llama-3",
        model_types=("llama",),
        known=(
            Checkpoint("eagle3", "yuhuili/EAGLE3-LLaMA3.1-Instruct-8B", "meta-llama/Llama-3.1-8B-Instruct"),
            Checkpoint("eagle", "yuhuili/EAGLE-LLaMA3.1-Instruct-8B", "meta-llama/Llama-3.1-8B-Instruct"),
            Checkpoint("draft_model", "meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-70B-Instruct"),
        ),
        trained=("eagle3", "dflash"),
        note="Arctic's own speculators for Llama 3.1 and 3.3 need its plug-in, which vLLM above 0.18 does not take.",
    ),
    Family(
        name="qwen3",
        model_types=("qwen3", "qwen3_moe"),
        known=(Checkpoint("draft_model", "Qwen/Qwen3-0.6B", "Qwen/Qwen3-14B"),),
        trained=("eagle3", "dflash", "dspark"),
        note="Qwen3-0.6B beside 14B was accepted at 0.4 and slower on NPUs; an eagle3 or dflash draft is a better try.",
    ),
    Family(
        name="qwen2.5",
        model_types=("qwen2",),
        trained=("eagle3",),
        note="Small and large Qwen2.5 pad their vocabularies differently (151936, 152064): a small one as draft_model "
        "needs heterogeneousVocabulary.",
    ),
    Family(
        name="deepseek-v3",
        also=("deepseek-r1",),
        model_types=("deepseek_v3", "deepseek_v32"),
        mtp_heads=1,
        trained=("eagle3",),
    ),
    Family(name="deepseek-v4", model_types=("deepseek_v4",), mtp_heads=1, trained=("dspark",)),
    Family(
        name="deepseek-v4.1",
        model_types=("deepseek_v41",),
        trained=("dspark",),
        note="Its checkpoints carry DSpark stages instead of MTP heads: method dspark without a draft.",
    ),
    Family(name="mimo", model_types=("mimo", "mimo_v2"), architectures=("MiMoForCausalLM",), mtp_heads=1),
    Family(name="gpt-oss", model_types=("gpt_oss",), trained=("eagle3", "dflash")),
    Family(
        name="gemma-4",
        model_types=("gemma4", "gemma4_text"),
        trained=("mtp", "eagle3", "dflash", "dspark"),
        note="Its MTP heads are a checkpoint of their own, the assistant: give it as the draft, kind mtp.",
    ),
    Family(name="kimi-k2", model_types=("kimi_k2", "kimi_k25"), trained=("eagle3", "dflash")),
    Family(name="kimi-k3", model_types=("kimi_k3",), mtp_heads=1, trained=("dspark",)),
    Family(name="minimax-m2", model_types=("minimax_m2",), trained=("eagle3", "dflash")),
    Family(name="nemotron-h", model_types=("nemotron_h",), mtp_heads=1, trained=("eagle3", "dflash")),
    Family(name="mistral", model_types=("mistral", "mistral3"), trained=("eagle", "eagle3")),
    *(Family(name=name, also=_ALSO.get(name, ()), model_types=types, mtp_heads=1) for name, types in _MTP_ONLY),
)
"""Sources: https://huggingface.co/yuhuili; vLLM's model registry and its list of EAGLE-3 targets of 0.11 to 0.33;
vLLM PR 13849; vllm-ascend issue 12890; the DeepSeek-V3 model card; Arctic Inference's releases."""


def family_named(word: str) -> Family | None:
    """The family that a word means, such as `qwen3`, `Qwen3-8B` or `meta-llama/Llama-3.1-8B-Instruct`."""
    asked = _joined(word.rsplit("/", 1)[-1].lower().removeprefix("meta-"))
    fitting = [
        (len(name), each) for each in FAMILIES for name in (each.name, *each.also) if asked.startswith(_joined(name))
    ]
    return max(fitting, key=lambda pair: pair[0], default=(0, None))[1]


def _joined(name: str) -> str:
    """Without hyphens: `deepseek-v3.2` and `deepseekv32` begin with the same word; dots stay, or 3-5B would be 3.5."""
    return name.replace("-", "").replace("_", "")


def family_of(config: Mapping[str, Any]) -> Family | None:
    """The family of a model by its config.json."""
    architectures = config.get("architectures")
    named = [each for each in architectures if isinstance(each, str)] if isinstance(architectures, list) else []
    if found := next((each for each in FAMILIES if set(named) & set(each.architectures)), None):
        return found
    return next((each for each in FAMILIES if config.get("model_type") in each.model_types), None)
