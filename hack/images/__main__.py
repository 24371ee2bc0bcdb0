"""python -m hack.images operator|runtime|all   builds, loads onto the cluster if one is up, and prints the names.
python -m hack.images initializer|s3|tests    the same, for the other images that the tests on a node need.
python -m hack.images refs                    prints the names only.
python -m hack.images lock|verify             writes or checks requirements/.
python -m hack.images resolve                 asks the package index whether each engine's requirements hold together.
python -m hack.images sbom                    builds both images and writes what they are made of to dist/sbom.
"""

import sys
import time
from dataclasses import astuple

from hack.cluster import images as node
from hack.cluster import paths, record
from hack.command import run
from hack.images import build, content, delivery, locked, refs, tool

_IMAGES = {
    "operator": ("operator",),
    "runtime": ("runtime",),
    "all": ("operator", "runtime"),
    "initializer": ("initializer",),
    "s3": ("s3",),
    "tests": ("initializer", "s3"),
}


def say(sentence: str) -> None:
    """Report progress; the names alone go to standard output."""
    print(sentence, file=sys.stderr, flush=True)


def ensure(names: tuple[str, ...]) -> None:
    """Build and load images, each step with its time."""
    builder = tool.choose()
    cluster = record.read(paths.layout())
    for name in names:
        product = build.product(name)
        started = time.monotonic()
        built = build.ensure(builder, product, say)
        say(f"{name} image {'built' if built else 'was built before'}: {time.monotonic() - started:.1f} s")
        if cluster is not None and not node.has(product.ref):
            started = time.monotonic()
            delivery.load(builder, product.ref)
            if product.alias:
                node.rename(product.ref, product.alias)
            say(f"{name} image loaded onto the cluster: {time.monotonic() - started:.1f} s")
        print(product.ref, flush=True)


def resolve() -> None:
    """Ask for every engine on every platform."""
    for platform in locked.PLATFORMS:
        count = locked.check(platform, locked.path(platform.engine).read_text(encoding="utf-8"))
        say(f"{platform.engine} on {platform.machine}, Python {platform.python}: {count} packages, no conflict")


def write_sbom() -> None:
    """Take the documents out of the images; the checks of their schema are a package of the tests."""
    from hack.images import sbom  # noqa: PLC0415

    ensure(("operator", "runtime"))
    for target, ref in (("operator", refs().operator), ("cpu", refs().runtime)):
        for path in sbom.take(tool.choose(), target, ref, sbom.FOLDER):
            say(f"written: {path.relative_to(content.ROOT)}")


def main(words: list[str]) -> int:
    """Run one command."""
    match words:
        case [name] if name in _IMAGES:
            ensure(_IMAGES[name])
        case ["refs"]:
            print(*astuple(refs()), sep="\n")
        case ["lock"]:
            locked.write()
        case ["verify"]:
            if stale := locked.stale():
                print(f"stale: {', '.join(stale)}; run `python -m hack.images lock` and commit the result")
                return 1
        case ["resolve"]:
            resolve()
        case ["sbom"]:
            write_sbom()
        case _:
            print(__doc__)
            return 2
    return 0


if __name__ == "__main__":
    run(main)
