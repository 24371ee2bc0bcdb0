"""What the engines of a run compute on: a CPU, which every machine has, or GPUs (SPECDEC_ACCELERATOR=nvidia)."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from hack import images
from hack.cluster.errors import ClusterError
from hack.images import box, build, tool

ACCELERATOR: Final = "SPECDEC_ACCELERATOR"


@dataclass(frozen=True, kw_only=True, slots=True)
class DevicePlace:
    """One kind of device. engine: of every service; flags: beyond the operator's; prefix: of files in docs/engine."""

    accelerator: str
    engine: Mapping[str, Any]
    flags: tuple[str, ...]
    prefix: str

    def image(self) -> str:
        """Return the runtime image for it, built where it is missing."""
        name = "runtime" if self.accelerator == "cpu" else self.accelerator
        build.ensure(tool.choose(), build.product(name), print)
        return build.product(name).ref

    def device(self) -> str | None:
        """Return what the driver calls the first GPU; None on a CPU. Raises ClusterError where there is none."""
        if self.accelerator == "cpu":
            return None
        ask = ("nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader")
        try:
            done = subprocess.run(ask, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            done = subprocess.CompletedProcess(ask, 127, "", "nvidia-smi is not there")
        if done.returncode:
            words = " ".join((done.stderr or done.stdout).split())
            raise ClusterError(
                f"{ACCELERATOR}={self.accelerator}: {words}: a run on a GPU needs one, with its driver; "
                f"leave {ACCELERATOR} out for a run on the CPU"
            )
        return done.stdout.splitlines()[0].strip()


_CPU: Final = DevicePlace(accelerator="cpu", engine={"enforceEager": True}, flags=(), prefix="")
# Four engines share the device; what each may take is checked at its start, though its cache is a fixed one.
_NVIDIA: Final = DevicePlace(accelerator="nvidia", engine={}, flags=("--gpu-memory-utilization=0.2",), prefix="gpu-")
_PLACES: Final = {each.accelerator: each for each in (_CPU, _NVIDIA)}


def chosen(environment: Mapping[str, str] = os.environ) -> DevicePlace:
    """Return the place that the environment names. Raises ClusterError for one that is not known."""
    name = environment.get(ACCELERATOR, "cpu")
    if name not in _PLACES:
        raise ClusterError(f"{ACCELERATOR}={name}: it must be one of {', '.join(_PLACES)}")
    return _PLACES[name]


def run(what: str, folder: Any, *module: str) -> None:
    """Run a module in the image of the place. Raises ClusterError where it fails."""
    place = chosen()
    if code := box.run(module, folder, place.image(), devices=place.accelerator != "cpu"):
        raise ClusterError(f"{what} ended with code {code}; its words are above")


def image_name() -> str:
    """Return the name of the image of the place, without its host."""
    place = chosen()
    ref = images.refs().runtime if place.accelerator == "cpu" else images.accelerated(place.accelerator)
    return ref.rpartition("/")[2]
