"""The node's NVIDIA driver against the CUDA that the engine was built with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specdec_engine.rule import Finding, Severity
from specdec_runtime.preflight.finding import FolderRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from specdec_runtime.preflight.case import PreflightCase

OLD: Final = FolderRule(
    id="DriverTooOld",
    severity=Severity.REFUSED,
    when="inside the image, on NVIDIA; the driver reports its CUDA version",
    says="The driver supports the major version of the engine's CUDA: CUDA 13 needs R580 or newer, CUDA 12 needs R525.",
    without="`The NVIDIA driver on your system is too old`, after PyTorch was loaded.",
    source="NVIDIA's table of minor version compatibility; not run",
)
RULES: Final = (OLD,)
_OLDEST: Final = {12: "R525", 13: "R580"}
"""The first branch of drivers that runs a major version of CUDA."""


def new_enough(case: PreflightCase) -> Iterator[Finding]:
    """A driver runs every CUDA of its own major version and of older ones."""
    driver, cuda = case.around.driver, case.around.cuda
    if driver is None or cuda is None or driver.cuda[0] >= cuda:
        return
    oldest = _OLDEST.get(cuda, f"a driver for CUDA {cuda}")
    has = f"the node's NVIDIA driver {driver.version} supports CUDA up to {driver.cuda[0]}.{driver.cuda[1]}"
    yield OLD.found(
        "--model",
        f"{has} and the engine has CUDA {cuda}: it must be {oldest} or newer; update the node's driver, choose nodes "
        "with a newer one (pod.nodeSelector), or use an image for an older CUDA (engine.image)",
    )
