"""`python -m hack.packaging plugin BASE_URL [PLATFORM...]`: archives of the kubectl plugin, and krew's manifest.

They go to dist/krew. BASE_URL: where the archives will lie, such as https://HOST/PATH/releases/download/v0.1.0.
"""

import pathlib
import sys
import tempfile

from hack.packaging import archive
from hack.packaging.krew import Packed, manifest
from hack.packaging.platforms import PLATFORMS, Platform
from specdec_operator import __version__

_DIST = pathlib.Path(__file__).parents[2] / "dist" / "krew"


def plugin(base: str, wanted: tuple[Platform, ...], target: pathlib.Path) -> pathlib.Path:
    """Write an archive for each platform, and the manifest; return the manifest's path."""
    target.mkdir(parents=True, exist_ok=True)
    packed = []
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        project, pins = archive.wheel(work), archive.requirements(work)
        for platform in wanted:
            inner = work / platform.name
            inner.mkdir()
            content = archive.pack(platform, project, pins, inner)
            file = target / f"{archive.PLUGIN}_v{__version__}_{platform.name}.tar.gz"
            file.write_bytes(content)
            print(f"{file.name}: {len(content) / 1e6:.1f} MB")
            packed.append(
                Packed(platform=platform, uri=f"{base.rstrip('/')}/{file.name}", sha256=archive.digest(content))
            )
    path = target / "specdec.yaml"
    path.write_text(manifest(__version__, packed), encoding="utf-8")
    return path


def main(argv: list[str]) -> int:
    """Pack; the exit code is 2 where the command is misspelt."""
    known = {each.name: each for each in PLATFORMS}
    if len(argv) < 2 or argv[0] != "plugin" or not {*argv[2:]} <= {*known} or "://" not in argv[1]:
        print(f"{__doc__}\nplatforms: {', '.join(known)}", file=sys.stderr)
        return 2
    print(plugin(argv[1], tuple(known[each] for each in argv[2:]) or PLATFORMS, _DIST))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
