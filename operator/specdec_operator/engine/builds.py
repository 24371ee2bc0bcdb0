"""Which engine an accelerator and a version mean."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from specdec_operator.engine.version import Build, Flavor, Version
from specdec_operator.errors import Invalid

IMAGES: Final[Mapping[str, str]] = MappingProxyType({"nvidia": "0.33.0", "ascend": "0.23.0", "cpu": "0.32.0"})
"""The engine version in this release's runtime images; the same as the extras of pyproject.toml."""
PACKAGES: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {accelerator: frozenset({"arctic_inference", "specdec_runtime"}) for accelerator in ("nvidia", "ascend", "cpu")}
)
"""Optional packages in this release's images (the engines' extras in pyproject.toml)."""
_FLAVORS: Final = MappingProxyType(
    {"nvidia": Flavor.VLLM, "ascend": Flavor.VLLM_ASCEND, "cpu": Flavor.VLLM_CPU},
)
# vllm-ascend, docs/source/community/versioning_policy.md: tags whose vLLM has another number than their own.
_VLLM_OF_ASCEND: Final = MappingProxyType({Version(0, 14, 0): Version(0, 14, 1)})


def build_of(accelerator: str, version: str | None) -> Build:
    """The engine for `spec.engine.accelerator` and `.version`. Raises Invalid for a version that is none."""
    flavor = _FLAVORS[accelerator]
    try:
        parsed = Version.parse(version or IMAGES[accelerator])
    except ValueError as error:
        raise Invalid("spec.engine.version", version, str(error)) from error
    if flavor is Flavor.VLLM_ASCEND:
        return Build(flavor=flavor, vllm=_VLLM_OF_ASCEND.get(parsed, parsed), ascend=parsed)
    return Build(flavor=flavor, vllm=parsed)
