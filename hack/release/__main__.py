"""What a release's workflow asks of the repository: standard library only, for it runs before anything is installed.

python3 -m hack.release check TAG                       the tag is the version of package, chart and changelog.
python3 -m hack.release plan                            registry and images to build, as outputs of a step.
python3 -m hack.release room TARGET                     whether this machine has the disk to build an image.
python3 -m hack.release image TARGET ARCH VERSION       name and tag of an image, without its registry.
python3 -m hack.release bases TARGET [ARG=VALUE]        what an image stands on; fails if that has no digest.
python3 -m hack.release sign TARGET ARCH [ARG=VALUE]    signs the image in dist/images/TARGET.ARCH.txt with SBOMs.
python3 -m hack.release indexes                         one name for the images of each target, pushed and signed.
python3 -m hack.release chart                           packages the chart with their digests, pushes and signs it.
python3 -m hack.release sign-files FOLDER               signs the provenance of every file in a folder.
python3 -m hack.release notes TAG                       the changelog's section of the tag, and what was built.

ARG=VALUE: the build arguments with which the image is built. Variables: hack/release/plan.py.
"""

import os
import pathlib
import sys
from collections.abc import Sequence
from typing import Final

from hack.release import dockerfile, names, plan, provenance
from hack.release.pushed import ReleaseRefused
from hack.release.ship import Release

_DIST: Final = dockerfile.ROOT / "dist"


def _release() -> Release:
    """The release that this workflow makes."""
    left_out = plan.of(os.environ).without
    return Release(run=provenance.of_workflow(os.environ), images=_DIST / "images", without=left_out)


def _indexes() -> list[str]:
    """Give each target one name; return the names, by digest."""
    wanted, release = plan.of(os.environ), _release()
    targets = [each for each in dockerfile.FILES if each not in wanted.without]
    return [release.ship_index(target, wanted.architectures(target)).name for target in targets]


def main(argv: Sequence[str]) -> int:
    """Answer one question or take one step. Return 1 if the answer is negative, 2 if the command line is neither."""
    match argv:
        case ["check", tag]:
            return _told(names.faults(tag), f"{tag} is the version of everything")
        case ["bases", target, *words] if target in dockerfile.FILES:
            stands = dockerfile.bases(target, _arguments(words))
            return _told(dockerfile.faults(target, _arguments(words)), "\n".join(each.image for each in stands))
    found = _answer(argv) or _step(argv)
    print("\n".join(found) or __doc__, file=sys.stdout if found else sys.stderr)
    return 0 if found else 2


def _answer(argv: Sequence[str]) -> list[str]:
    """What changes nothing."""
    match argv:
        case ["plan"]:
            return [plan.of(os.environ).outputs()]
        case ["room", target] if target in dockerfile.FILES:
            return [plan.refuse_without_room(target)]
        case ["image", target, arch, version] if target in dockerfile.FILES and arch in plan.ARCHITECTURES:
            return [names.image(target, arch, version)]
        case ["notes", tag]:
            return [names.notes(tag), "", "### Images and chart", "", plan.of(os.environ).notes()]
    return []


def _step(argv: Sequence[str]) -> list[str]:
    """What writes to the registry or the disk."""
    match argv:
        case ["sign", target, arch, *words] if target in dockerfile.FILES and arch in plan.ARCHITECTURES:
            return [_release().sign(target, arch, _arguments(words)).name]
        case ["indexes"]:
            return _indexes()
        case ["chart"]:
            return [_release().ship_chart(_DIST / "chart").name]
        case ["sign-files", folder]:
            return [each.name for each in _release().sign_files(pathlib.Path(folder))]
    return []


def _told(faults: Sequence[str], good: str) -> int:
    print("\n".join(faults) or good)
    return 1 if faults else 0


def _arguments(words: Sequence[str]) -> dict[str, str]:
    """Build arguments; one without a value is the Dockerfile's own."""
    return {name: value for name, _, value in (word.partition("=") for word in words)}


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except ReleaseRefused as error:
        sys.exit(f"error: {error}")
