"""Writes down what vLLM's model classes can do; otherwise each start finds it out in a process of its own.

Uses vLLM's own cache format. A class that is missing here costs a start a few seconds, nothing else.
"""

from __future__ import annotations

from pathlib import Path

from vllm.model_executor.models import registry  # type: ignore[import-not-found]

# Text models that are small enough to be served from a CPU.
ARCHITECTURES = (
    "LlamaForCausalLM",
    "MistralForCausalLM",
    "Qwen2ForCausalLM",
    "Qwen3ForCausalLM",
    "Gemma2ForCausalLM",
    "Gemma3ForCausalLM",
    "Phi3ForCausalLM",
    "GraniteForCausalLM",
)


def main() -> None:
    """Inspect each class once."""
    for architecture in ARCHITECTURES:
        lazy = registry.ModelRegistry.models[architecture]
        module = Path(registry.__file__).parent / f"{lazy.module_name.rsplit('.', 1)[-1]}.py"
        lazy._save_modelinfo_to_cache(
            registry._ModelInfo.from_model_cls(lazy.load_model_cls()), lazy._get_modelinfo_module_hash(module)
        )
        print(f"{architecture}: inspected")


if __name__ == "__main__":
    main()
