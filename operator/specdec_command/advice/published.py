"""Which drafts and which K are published for which target, by name: data/published.json.

A name shows less than a config.json: a fine-tune under the same name needs a head of its own. So each answer names the
target that a draft is made for, and the source.
"""

import re
from dataclasses import dataclass
from typing import Any, Final

from specdec_command.advice.catalogue import MethodFact, data

_SUFFIX: Final = re.compile(
    r"[-_.](?:fp8|nvfp4|mxfp4|mxfp8|awq|gptq|bf16|int[48]|w8a8|w4a16|w8a16|[48]bit|dynamic|block|quantized)$"
)


@dataclass(frozen=True, slots=True)
class PublishedUse:
    """How a source runs a target. target, draft: repositories on the Hugging Face hub; draft: empty for own heads.

    tokens: K in that source; None: it names none. source: where this is from. gain: what that source measured.
    """

    target: str
    method: str
    draft: str
    tokens: int | None
    source: str
    gain: str = ""

    @property
    def fact(self) -> MethodFact:
        """It as a sentence."""
        count = f", with K {self.tokens}" if self.tokens else ""
        made = (
            f"hf://{self.draft} is made for {self.target}" if self.draft else f"{self.target} runs with its own heads"
        )
        measured = f": {self.gain}" if self.gain else ""
        return MethodFact(f"{made}{count}{measured}", self.source)


def _use(row: list[Any]) -> PublishedUse:
    target, method, draft, tokens, source, *gain = row
    return PublishedUse(target, method, draft, tokens, data("published")["sources"][source], *gain)


PUBLISHED: Final = tuple(map(_use, data("published")["published"]))


def published(target: str, method: str) -> tuple[PublishedUse, ...]:
    """What is published for a target by its repository, and for its quantised copies; those with a K first."""
    found = [each for each in PUBLISHED if each.method == method and model_name(each.target) == model_name(target)]
    return tuple(sorted(found, key=lambda each: each.tokens is None))


def model_name(repository: str) -> str:
    """The name of a model without its owner and quantisation: `Qwen/Qwen3.6-27B-FP8` is Qwen3.6-27B."""
    name = repository.rsplit("/", 1)[-1].lower()
    while (shorter := _SUFFIX.sub("", name)) != name:
        name = shorter
    return name
