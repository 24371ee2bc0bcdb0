"""What a release's workflow asks of the repository: standard library only, for it runs before anything is installed.

python3 -m hack.release check TAG                  the tag is the version of the package, the chart and the changelog
python3 -m hack.release images TARGET VERSION      the names and tags of an image, without its registry
python3 -m hack.release bases TARGET [ARG=VALUE]   what an image stands on; refused where that has no digest
python3 -m hack.release sign TARGET [ARG=VALUE]    signs the image in dist/images/TARGET.txt, SBOMs, provenance
python3 -m hack.release chart                      packages the chart with these digests, pushes and signs it
python3 -m hack.release sign-files FOLDER          signs the provenance of every file in a folder
python3 -m hack.release notes TAG                  what the changelog says of it

ARG=VALUE: the build arguments with which the image is built.
"""

import os
import pathlib
import sys
from collections.abc import Sequence
from typing import Final

from hack.release import dockerfile, names, provenance
from hack.release.pushed import Refused
from hack.release.ship import Release

_DIST: Final = dockerfile.ROOT / "dist"


def _release() -> Release:
    """The release that this workflow makes."""
    return Release(run=provenance.of_workflow(os.environ), images=_DIST / "images")


def main(argv: Sequence[str]) -> int:
    """Answer one question; 1 where the answer is no, 2 where the question is none."""
    match argv:
        case ["check", tag]:
            return _told(names.faults(tag), f"{tag} is the version of everything")
        case ["images", target, version]:
            print("\n".join(names.images(target, version)))
        case ["bases", target, *words] if target in dockerfile.FILES:
            stands = dockerfile.bases(target, _arguments(words))
            return _told(dockerfile.faults(target, _arguments(words)), "\n".join(each.image for each in stands))
        case ["sign", target, *words] if target in dockerfile.FILES:
            print(_release().sign(target, _arguments(words)).name)
        case ["chart"]:
            print(_release().ship_chart(_DIST / "chart").name)
        case ["sign-files", folder]:
            print(*(each.name for each in _release().sign_files(pathlib.Path(folder))), sep="\n")
        case ["notes", tag]:
            print(names.notes(tag))
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


def _told(faults: Sequence[str], good: str) -> int:
    print("\n".join(faults) or good)
    return 1 if faults else 0


def _arguments(words: Sequence[str]) -> dict[str, str]:
    """Build arguments; one without a value is the Dockerfile's own."""
    return {name: value for name, _, value in (word.partition("=") for word in words)}


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Refused as error:
        sys.exit(f"error: {error}")
