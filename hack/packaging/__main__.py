"""python -m hack.packaging plugin BASE_URL [PLATFORM...]   the kubectl plugin's archives and krew's manifest: dist/krew
python -m hack.packaging files BASE_URL                  every file of a release's page: dist/files

BASE_URL: where the files will lie, such as https://HOST/PATH/releases/download/v0.1.0.
"""

import pathlib
import shutil
import sys

from hack.command import run
from hack.packaging import files
from hack.packaging.plugin import PLATFORMS, plugin

_DIST = pathlib.Path(__file__).parents[2] / "dist" / "krew"


def main(argv: list[str]) -> int:
    """Pack; the exit code is 2 where the command is misspelt."""
    known = {each.name: each for each in PLATFORMS}
    match argv:
        case ["plugin", base, *names] if "://" in base and {*names} <= {*known}:
            print(plugin(base, tuple(known[each] for each in names) or PLATFORMS, _DIST))
        case ["files", base] if "://" in base:
            shutil.rmtree(files.FOLDER, ignore_errors=True)
            print(*files.build(files.FOLDER, base, print), sep="\n")
        case _:
            print(f"{__doc__}\nplatforms: {', '.join(known)}", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    run(main)
