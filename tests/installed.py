"""What manifests/ passes to the operator that it installs."""

import pathlib
from typing import Final

import yaml

_DEPLOYMENT: Final = pathlib.Path(__file__).parents[1] / "manifests" / "operator" / "deployment.yaml"
RUNTIMES: Final = "SPECDEC_RUNTIMES"


def settings() -> dict[str, str]:
    """The environment of the operator's container."""
    (container,) = yaml.safe_load(_DEPLOYMENT.read_text())["spec"]["template"]["spec"]["containers"]
    return {each["name"]: each["value"] for each in container["env"] if "value" in each}


def runtimes() -> dict[str, str]:
    """The runtime of each accelerator."""
    return dict(each.split("=") for each in settings()[RUNTIMES].split(","))
