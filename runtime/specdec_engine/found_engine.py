"""The engine that a pod finds in its image, beside the one that its flags are for. Texts such as `vllm 0.33.0`.

The operator renders a variable with the second, preflight compares, and the operator plans with what was found.
"""

import re
from typing import Final

from specdec_engine.accelerators import Accelerator
from specdec_engine.version import FLAVORS, OLDEST, Flavor, Version

VARIABLE: Final = "SPECDEC_ENGINE"
"""The variable of the engine's container with the engine that the flags are for."""
DIFFERS: Final = "EngineVersionDiffers"
"""Why a pod refused to start, if the engine in its image does not take the flags of another version."""
_RELEASE: Final = re.compile(r"\d{1,3}\.\d{1,3}(?:\.\d{1,3})?(?=$|[^\d.]|\.(?:post|dev))")
_TEXT: Final = re.compile(rf"({'|'.join(sorted(Flavor, reverse=True))}) (\d{{1,3}}\.\d{{1,3}}\.\d{{1,3}})")


def found(flavor: Flavor, installed: str) -> str:
    """The engine by the version of its package, such as `0.18.0rc1` or `0.33.0+cu130`.

    Empty for a build without a release's number, such as `0.1.dev1+g1a2b3c4`: it may be anything.
    """
    shown = _RELEASE.match(installed)
    version = Version.parse(shown[0]) if shown else None
    return f"{flavor} {version}" if version and (version.major, version.minor) >= OLDEST else ""


def is_engine(text: str) -> bool:
    """Whether a text that a pod sent has this form."""
    return _TEXT.fullmatch(text) is not None


def version_of(engine: str, accelerator: str) -> str:
    """The version in such a text, as spec.engine.version has it; empty for the engine of another accelerator."""
    read = _TEXT.fullmatch(engine)
    if read is None:
        return ""
    on_npus = FLAVORS[accelerator] is Flavor.VLLM_ASCEND
    return read[2] if (read[1] == FLAVORS[Accelerator.ASCEND]) is on_npus else ""


def differ(asked: str, seen: str) -> bool:
    """Whether two engines are different releases; False if one of them is not known."""
    one, other = _TEXT.fullmatch(asked), _TEXT.fullmatch(seen)
    if one is None or other is None:
        return False
    kinds = {each[1] == FLAVORS[Accelerator.ASCEND] for each in (one, other)}
    return len(kinds) > 1 or one[2] != other[2]
