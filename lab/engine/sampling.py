"""Measures what speculation does to sampled text, with and without the plugin; runs where vLLM is.

    python -m lab.engine.sampling MODELS OUT.json

Verification must not change the distribution of what is sampled. It is compared by the total variation distance
between two samples of third tokens, and judged by the distance between two samples of the plain server.
"""

import json
import sys
from collections import Counter
from pathlib import Path

from lab.engine import measure, server

_SAMPLES = 600
_PER_REQUEST = 50
# The first token comes from the prompt, not from a draft; the third is the second that is verified.
_POSITION = 2
_TEMPERATURE = 0.6
_PROMPTS = 2


def sample(engine: server.EngineServer, prompts: list[str]) -> Counter[tuple[int, int]]:
    """Return how often which token came third, by prompt."""
    seen: Counter[tuple[int, int]] = Counter()
    for number, prompt in enumerate(prompts):
        for _ in range(_SAMPLES // _PER_REQUEST):
            options = {"n": _PER_REQUEST, "temperature": _TEMPERATURE, "return_token_ids": True}
            answer = engine.complete(prompt, _POSITION + 1, **options)
            seen.update((number, choice["token_ids"][_POSITION]) for choice in answer["choices"])
    return seen


def distance(one: Counter[tuple[int, int]], other: Counter[tuple[int, int]]) -> float:
    """Return the total variation distance of two samples of one size, between 0 and 1."""
    total = sum(one.values())
    return round(sum(abs(one[key] - other[key]) for key in one | other) / (2 * total), 4)


def main(models: Path, out: Path) -> None:
    """Sample from the plain server twice, and once each from the corrected and the uncorrected speculating one."""
    prompts = json.loads((models / "prompts.json").read_text(encoding="utf-8"))["code"][:_PROMPTS]
    with measure.served(models, None) as engine:
        baseline, again = sample(engine, prompts), sample(engine, prompts)
    numbers = {"samples": sum(baseline.values()), "noise": distance(baseline, again)}
    for name, plugins in {"corrected": True, "uncorrected": False}.items():
        with measure.served(models, server.drafting(models), plugins=plugins) as engine:
            numbers[name] = distance(baseline, sample(engine, prompts))
        print(f"{name}: distance {numbers[name]}, noise {numbers['noise']}", flush=True)
    out.write_text(json.dumps(numbers) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
