"""make push-model MODEL=folder IMAGE=registry/name:tag [PUSH=no | NODE=yes]
python -m hack.push_model FOLDER IMAGE [--no-push | --node]

Makes a Modelcar of a model's folder and pushes it to the registry in the image's name. PUSH=no only builds it;
NODE=yes puts it onto the local cluster's node instead. docs/staging.md#modelcars shows how to serve it.
"""

import sys
import time
from pathlib import Path

from hack.command import run
from hack.images import delivery, modelcar, tool

_NODE, _NO_PUSH = "--node", "--no-push"


def make(folder: Path, ref: str, options: set[str]) -> str:
    """Build the image, deliver it as the options require, and return what was done."""
    modelcar.check(folder, ref)
    builder, started = tool.choose(), time.monotonic()
    size = modelcar.build(builder, folder, ref)
    where = "built"
    if _NODE in options:
        delivery.load(builder, ref)
        where = "on the local node"
    elif _NO_PUSH not in options:
        modelcar.push(builder, ref)
        where = "pushed"
    return f"{ref} is {where}: {size / 2**20:.1f} MiB of files, {time.monotonic() - started:.1f} s; serve oci://{ref}"


def main(words: list[str]) -> int:
    """Read the command line and carry it out."""
    options = {word for word in words if word.startswith("--")}
    names = [word for word in words if not word.startswith("--")]
    if len(names) != 2 or not all(names) or not options <= {_NODE, _NO_PUSH}:
        print(__doc__, file=sys.stderr)
        return 2
    print(make(Path(names[0]), names[1], options))
    return 0


if __name__ == "__main__":
    run(main)
