"""`python -m hack.packaging plugin BASE_URL [PLATFORM...]`: archives of the kubectl plugin, and krew's manifest.

They go to dist/krew. BASE_URL: where the archives will lie, such as https://HOST/PATH/releases/download/v0.1.0.
"""

import pathlib
import sys

from hack.command import run
from hack.packaging.plugin import PLATFORMS, plugin

_DIST = pathlib.Path(__file__).parents[2] / "dist" / "krew"


def main(argv: list[str]) -> int:
    """Pack; the exit code is 2 where the command is misspelt."""
    known = {each.name: each for each in PLATFORMS}
    if len(argv) < 2 or argv[0] != "plugin" or not {*argv[2:]} <= {*known} or "://" not in argv[1]:
        print(f"{__doc__}\nplatforms: {', '.join(known)}", file=sys.stderr)
        return 2
    print(plugin(argv[1], tuple(known[each] for each in argv[2:]) or PLATFORMS, _DIST))
    return 0


if __name__ == "__main__":
    run(main)
