"""The weights must be those that config.json describes, whole, and look like numbers that were trained."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from specdec_engine.rule import Finding, Severity
from specdec_runtime.preflight import expected
from specdec_runtime.preflight.finding import FolderRule
from specdec_runtime.preflight.weights import PLAIN

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from specdec_runtime.preflight.artifact import ModelFolder
    from specdec_runtime.preflight.case import PreflightCase
    from specdec_runtime.preflight.values import TensorSample
    from specdec_runtime.preflight.weights import TensorEntry

_FAMILIES: Final = "unquantised models of the Llama, Mistral, Qwen2, Qwen3, Gemma and MiMo families"
MISMATCH: Final = FolderRule(
    id="*WeightsMismatch",
    severity=Severity.REFUSED,
    when=f"{_FAMILIES}; for others only model.embed_tokens.weight",
    says="Every tensor has the shape that config.json describes.",
    without="No error if the tensor is larger: the engine loads a slice and drafts worse. Otherwise a shape error.",
    source="run, 0.32",
)
INCOMPLETE: Final = FolderRule(
    id="*TensorsMissing",
    severity=Severity.REFUSED,
    when=_FAMILIES,
    says="Every tensor of every layer exists.",
    without="For the draft no error: missing tensors stay uninitialised, and no draft is accepted.",
    source="run, 0.32",
)
UNSOUND: Final = FolderRule(
    id="DraftWeightsUnsound",
    severity=Severity.REFUSED,
    when="weights in bf16, f16 or f32; at most 1 MiB is checked, and small models completely",
    says="The numbers are finite, not all zero, and within the usual range of trained weights.",
    without="No error and no warning: the service runs, and no draft is accepted.",
    source="run, 0.32",
)
TARGET_UNSOUND: Final = FolderRule(
    id="TargetWeightsUnsound",
    severity=Severity.WARNED,
    when="as for the draft",
    says="The same for the target's numbers. Only a warning, because padding of unusual models may have any values.",
    without="The answers are not usable.",
    source="-",
)
RULES: Final = (MISMATCH, INCOMPLETE, UNSOUND, TARGET_UNSOUND)

LARGEST: Final = 1e4
"""No weight of a matrix is as large. Trained matrices stay below 100; ten thousand is what a wrong exponent gives: all
bits of a bf16 number flipped turn 0.0004 into 10,000, and random bits are beyond it in four of ten cases."""
LARGEST_FLAT: Final = 1e6
"""The same for norms and biases, of which some families keep hundreds."""
MEDIAN: Final = 64.0
"""No thousand weights of a matrix have such a median. Trained ones are about 1/sqrt(width), embeddings up to a few;
flipped bits turn the usual 0.02 into 200."""
_FEWEST: Final = 64
"""The fewest numbers for which a median, or all of them being zero, is evidence."""
_PLACES: Final = 3
"""Places of a tensor that must all be zero: one alone may be the row of an unused token, or a pruned head."""
_NEVER_ZERO: Final = re.compile(r"(?:^|\.)(?:embed_tokens|lm_head|fc|norm|[qkv]_proj|gate_proj|up_proj)\.weight$")
"""Tensors that are not zero in any trained model. Not among them: o_proj and down_proj, with which some models were
made deeper, and biases."""
_LAYER: Final = re.compile(r"^model\.layers\.(\d+)\.")


def shapes(case: PreflightCase) -> Iterator[Finding]:
    """Tensors have the shapes that config.json requires; vLLM would load a slice of a larger one without an error."""
    for each in case.artifacts if case.load_weights else ():
        wrong = _wrong(each)
        if wrong:
            name, tensor, wanted = wrong[0]
            more = f" ({len(wrong)} tensors differ)" if len(wrong) > 1 else ""
            source = "vocab_size, hidden_size" if "embed" in name else "sizes of layers and heads"
            yield MISMATCH.found(
                each.field,
                f"{each.path}: {name} is {list(tensor.shape)}, but config.json requires {_list(wanted)} "
                f"({source}){more}: weights and config are from different models; copy both from the same model",
                each.role,
            )


def _wrong(artifact: ModelFolder) -> list[tuple[str, TensorEntry, tuple[int | None, ...]]]:
    layout = expected.tensors(artifact.settings)
    wanted: Mapping[str, tuple[int | None, ...]] = layout.shapes if layout else _embedding(artifact)
    found = ((name, (artifact.tensors or {}).get(name), shape) for name, shape in wanted.items())
    return [(n, t, shape) for n, t, shape in found if t and t.dtype in PLAIN and not expected.fits(t.shape, shape)]


def _embedding(artifact: ModelFolder) -> Mapping[str, tuple[int | None, ...]]:
    size, hidden = artifact.number("vocab_size"), artifact.number("hidden_size")
    return {"model.embed_tokens.weight": (size, hidden)} if size and hidden else {}


def _list(wanted: tuple[int | None, ...]) -> str:
    return "[" + ", ".join("any" if each is None else str(each) for each in wanted) + "]"


def whole(case: PreflightCase) -> Iterator[Finding]:
    """No tensor of a layer is missing, and no layer is there that config.json does not count."""
    for each in case.artifacts if case.load_weights else ():
        layout = expected.tensors(each.settings)
        if layout is None or each.tensors is None or not _named_usually(each):
            continue
        missing = [name for name in layout.needed if name not in each.tensors]
        if missing:
            yield INCOMPLETE.found(
                each.field,
                f"{each.path} lacks {len(missing)} of {len(layout.needed)} tensors that config.json describes, first "
                f"{missing[0]}: vLLM leaves such tensors of a draft uninitialised, without an error; download the "
                "weights again",
                each.role,
            )
        top = max((int(found[1]) for name in each.tensors if (found := _LAYER.match(name))), default=0)
        if top >= layout.layers and "MiMoForCausalLM" not in each.settings.architectures:
            yield MISMATCH.found(
                each.field,
                f"{each.path} has layers up to number {top}, but config.json has {layout.layers} layers: weights and "
                "config are from different models; copy both from the same model",
                each.role,
            )


def _named_usually(artifact: ModelFolder) -> bool:
    """Whether the tensors bear the names of transformers; the original layout of Mistral, for one, has others."""
    return any(name.startswith("model.layers.") for name in artifact.tensors or {})


def sound(case: PreflightCase) -> Iterator[Finding]:
    """The numbers look trained. A draft with permuted rows looks so, too: only its acceptance shows it."""
    for each in case.artifacts if case.load_weights else ():
        trouble = next(filter(None, map(_torn, each.stretches)), None) or _zero(each)
        if trouble is not None:
            rule = TARGET_UNSOUND if each is case.target else UNSOUND
            yield rule.found(
                each.field,
                f"{each.path}: {trouble}: trained weights do not look like this, so the file is damaged or "
                "incomplete; download the weights of this model again and compare their checksums",
            )


def _torn(stretch: TensorSample) -> str | None:
    if stretch.unreal:
        return f"{stretch.unreal} of {stretch.count} numbers of {stretch.tensor} are NaN or infinite"
    if stretch.largest > (LARGEST_FLAT if stretch.flat else LARGEST):
        return f"{stretch.tensor} has a value of {stretch.largest:.3g}"
    if not stretch.flat and stretch.count >= _FEWEST and stretch.median > MEDIAN:
        return f"half of {stretch.count} numbers of {stretch.tensor} are above {stretch.median:.3g}"
    return None


def _zero(artifact: ModelFolder) -> str | None:
    seen: dict[str, list[TensorSample]] = {}
    for each in artifact.stretches:
        if _NEVER_ZERO.search(each.tensor):
            seen.setdefault(each.tensor, []).append(each)
    for name, parts in seen.items():
        count = sum(each.count for each in parts)
        enough = len(parts) >= _PLACES or any(each.whole for each in parts)
        if enough and count >= _FEWEST and all(each.zeros == each.count for each in parts):
            return f"all {count} checked numbers of {name} are zero"
    return None
