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

import json
import os
import pathlib
import sys
from collections.abc import Mapping, Sequence
from typing import Final

from hack.release import chart, dockerfile, names, provenance, pushed
from hack.release.pushed import Refused
from hack.release.signed import Cosign

_DIST: Final = dockerfile.ROOT / "dist"
_IMAGES: Final = _DIST / "images"


def sign(target: str, arguments: Mapping[str, str], cosign: Cosign, run: provenance.Run) -> None:
    """Sign an image that was pushed, with the bills of materials that lie beside its name."""
    image = pushed.parse((_IMAGES / f"{target}.txt").read_text(encoding="utf-8"), f"dist/images/{target}.txt")
    bills = [json.loads(each.read_text(encoding="utf-8")) for each in sorted(_IMAGES.glob(f"{target}.*.cdx.json"))]
    if not bills:
        raise Refused(f"dist/images: no {target}.*.cdx.json: copy them out of the image's /opt/sbom first")
    cosign.sign(image, bills, provenance.of_image(run, target, arguments))


def ship_chart(cosign: Cosign, run: provenance.Run) -> pushed.Pushed:
    """Package the chart with the digests of the images, push it to their registry and sign it."""
    images = pushed.read(_IMAGES)
    folder = _DIST / "chart"
    folder.mkdir(parents=True, exist_ok=True)
    made = chart.push(chart.package(images, folder), pushed.registry(images))
    bill = chart.bill(made, images)
    (folder / "chart.cdx.json").write_text(json.dumps(bill, indent=1), encoding="utf-8")
    cosign.sign(made, [bill], provenance.of_chart(run, images))
    return made


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
            sign(target, _arguments(words), Cosign(), provenance.of_workflow(os.environ))
        case ["chart"]:
            print(ship_chart(Cosign(), provenance.of_workflow(os.environ)).name)
        case ["sign-files", folder]:
            predicate = provenance.of_files(provenance.of_workflow(os.environ))
            for file in sorted(pathlib.Path(folder).iterdir()):
                print(Cosign().sign_file(file, predicate).name)
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
