"""Takes the software bills of materials out of an image and checks them against CycloneDX's schema.

The build writes them, into /opt/sbom; see hack/images/sbom.sh.
"""

import json
import subprocess
from pathlib import Path

from hack.cluster import shell
from hack.cluster.errors import ClusterError
from hack.images import content, tool

FOLDER = content.ROOT / "dist" / "sbom"
NAMES = ("python", "debian")


def take(builder: tool.Tool, target: str, ref: str, folder: Path) -> list[Path]:
    """Write the documents of a target's image into a folder, named as in a release.

    Raises ClusterError where one is missing or is not CycloneDX.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name in NAMES:
        text = _read(builder, ref, f"/opt/sbom/{name}.cdx.json")
        if fault := fault_of(text):
            raise ClusterError(f"/opt/sbom/{name}.cdx.json of {ref} is not CycloneDX: {fault}; build the image again")
        path = folder / f"{target}.{name}.cdx.json"
        path.write_text(text, encoding="utf-8")
        written.append(path)
    return written


def fault_of(text: str) -> str:
    """Return what the schema has against a document, empty when nothing: CycloneDX 1.6 in JSON, with components."""
    try:
        document = json.loads(text)
    except ValueError as error:
        return f"no JSON: {error}"
    if not isinstance(document, dict) or document.get("specVersion") != "1.6":
        return "specVersion is not 1.6"
    if not document.get("components"):
        return "no components"
    from cyclonedx.schema import SchemaVersion  # noqa: PLC0415 - builds the grammars of IRIs, 3 s for every importer
    from cyclonedx.validation.json import JsonStrictValidator  # noqa: PLC0415

    fault = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    return "" if fault is None else str(fault)


def _read(builder: tool.Tool, ref: str, path: str) -> str:
    """Return a file of an image. `cat` is run in it, because buildah cannot copy out of an image."""
    if builder.kind is not tool.ImageTool.BUILDAH:
        return shell.run([builder.kind, "run", "--rm", "--entrypoint=cat", ref, path], timeout=60)
    with tool.container("--pull-never", ref) as name:
        run = ["buildah", "run", "--isolation=chroot", name, "cat", path]
        return subprocess.run(run, capture_output=True, text=True, check=True).stdout
