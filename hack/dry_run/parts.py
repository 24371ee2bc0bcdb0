"""The images of a dry run: the real ones that this machine can build, and stand-ins in the place of the others."""

import json
import pathlib
import platform
import subprocess
from collections.abc import Callable

from hack.cluster import shell
from hack.dry_run import registry
from hack.images import build, content, sbom, tool
from hack.release import names
from hack.release.pushed import Pushed

_PRODUCTS = {"operator": "operator", "cpu": "runtime"}
"""What hack.images calls the images that can be built here, by target."""
_BILL = {
    "bomFormat": "CycloneDX",
    "specVersion": "1.6",
    "version": 1,
    "components": [{"type": "file", "name": "pyproject.toml"}],
}


def arguments(builder: tool.Tool) -> dict[str, str]:
    """The build arguments of a local build; a base that was made here is named by its digest in the local store."""
    base = build.foundation(builder)
    if base == build.LOCAL:
        asked = ["buildah", "inspect", "--type=image", "--format={{.FromImageDigest}}", base]
        base = f"{base.partition(':')[0]}@{shell.run(asked).strip()}"
    return {"BASE_IMAGE": base, **build.labels()}


def here() -> str:
    """Return the processor of this machine, as images name it."""
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


def push(
    builder: tool.Tool, target: str, arch: str, place: str, folder: pathlib.Path, say: Callable[[str], None] | None
) -> Pushed:
    """Push an image, and write its name and bills of materials into a folder, as the workflow does.

    `say`: prints the progress of the real image's build; if None, an image of one file is pushed in its place.
    """
    folder.mkdir(exist_ok=True)
    name = f"{target}.{arch}"
    if say:
        product = build.product(_PRODUCTS[target])
        build.ensure(builder, product, say)
        ref = product.ref
        sbom.take(builder, name, ref, folder)
    else:
        ref = _stand_in(builder, target, arch, folder)
        (folder / f"{name}.stand-in.cdx.json").write_text(json.dumps(_BILL), encoding="utf-8")
    image = registry.push(builder, ref, place, names.image(target, arch, content.version()))
    if not say:
        shell.run(builder.remove(ref))
    (folder / f"{name}.txt").write_text(f"{image.tagged}@{image.digest}\n", encoding="utf-8")
    return image


def _stand_in(builder: tool.Tool, target: str, arch: str, folder: pathlib.Path) -> str:
    """An image of one file, which does not run."""
    ref = f"localhost/specdec-stand-in:{target}-{arch}"
    file = folder / "Dockerfile"
    file.write_text(f"FROM scratch\nLABEL target={target}\nCOPY pyproject.toml /\n", encoding="utf-8")
    command = builder.build(str(file), None, ref, {})
    command.insert(-1, f"--platform=linux/{arch}")
    subprocess.run(command, cwd=content.ROOT, check=True, capture_output=True)
    return ref
