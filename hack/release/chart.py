"""The chart as a release ships it: with the registry and the digests of this release's images, and a bill of materials.

The checkout is not touched: a copy is changed and packaged.
"""

import pathlib
import re
import shutil
import tempfile
from collections.abc import Mapping
from typing import Any, Final

from hack.release import dockerfile, names
from hack.release.command import run
from hack.release.pushed import Pushed, ReleaseRefused, parse, registry

CHART: Final = "charts/specdec-operator"
REPOSITORY: Final = "charts"
"""Where in the registry charts are."""


def pages(source: str, version: str) -> str:
    """Return the address of this version's pages on GitHub. source: the repository's; empty if it is elsewhere."""
    found = re.fullmatch(r"https://github\.com/([^/]+)/([^/]+)", source)
    return f"https://{found[1].lower()}.github.io/{found[2]}/{version}" if found else ""


def stamped(values: str, images: Mapping[str, Pushed], version: str, source: str = "") -> str:
    """Return values.yaml with what was pushed, and where the runbooks are; a runtime without an image is off.

    Raises Refused for an image of another version.
    """
    for target, each in images.items():
        if not f"-{each.tag}".endswith(f"-{version}"):
            raise ReleaseRefused(
                f"{target}: {each.name} has tag {each.tag!r}, not of version {version}: push this release's image"
            )
    values = _set(values, r"registry: ", registry(images))
    if where := pages(source, version):
        values = _set(values, r"monitoring:\n(?:(?:  .*)?\n)*?    runbooks: ", f"{where}/runbooks")
    for target in dockerfile.FILES:
        if target in images:
            values = _set(values, rf"digests:\n(?:  .*\n)*?  {target}: ", images[target].digest)
        else:
            values = _replaced(
                values, rf"(?m)(^runtimes:\n(?:(?:  .*)?\n)*?  {target}:\n    enabled: )true", r"\1false"
            )
    return values


def package(
    images: Mapping[str, Pushed],
    out: pathlib.Path,
    *,
    helm: str = "helm",
    root: pathlib.Path = dockerfile.ROOT,
    source: str = "",
) -> pathlib.Path:
    """Package the chart with the digests and return the archive. source: the repository's address.

    Raises Refused with Helm's output.
    """
    version = names.version(root)
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(shutil.copytree(root / CHART, pathlib.Path(folder) / pathlib.Path(CHART).name))
        values = copy / "values.yaml"
        values.write_text(stamped(values.read_text(encoding="utf-8"), images, version, source), encoding="utf-8")
        run(helm, "lint", "--strict", "--quiet", str(copy))
        run(helm, "package", str(copy), f"--destination={out}")
    return out / f"{copy.name}-{version}.tgz"


def push(archive: pathlib.Path, place: str, *options: str, helm: str = "helm") -> Pushed:
    """Push the archive below a registry; return what the registry has then. Raises Refused."""
    said = run(helm, "push", str(archive), f"oci://{place}/{REPOSITORY}", *options)
    name, digest = (re.search(rf"^{word}:\s*(\S+)$", said, re.MULTILINE) for word in ("Pushed", "Digest"))
    if name is None or digest is None:
        raise ReleaseRefused(f"helm push {archive}: it told no name and digest: {said.strip()}")
    return parse(f"{name[1]}@{digest[1]}", f"helm push {archive}")


def bill(chart: Pushed, images: Mapping[str, Pushed]) -> dict[str, Any]:
    """Return the chart's bill of materials, CycloneDX 1.6: the images by digest."""
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": _component(chart, "application")},
        "components": [_component(each, "container") for each in images.values()],
        "dependencies": [{"ref": chart.purl, "dependsOn": [each.purl for each in images.values()]}],
    }


def _component(each: Pushed, kind: str) -> dict[str, Any]:
    return {
        "type": kind,
        "bom-ref": each.purl,
        "name": f"{each.registry}/{each.repository}",
        "version": each.tag,
        "purl": each.purl,
        "hashes": [{"alg": "SHA-256", "content": each.digest.removeprefix("sha256:")}],
    }


def _set(values: str, key: str, value: str) -> str:
    return _replaced(values, rf'(?m)^({key})""$', rf'\g<1>"{value}"')


def _replaced(values: str, what: str, by: str) -> str:
    changed, count = re.subn(what, by, values)
    if count != 1:
        raise ReleaseRefused(
            f"{CHART}/values.yaml: {what!r} is there {count} times instead of once: make hack/release/chart.py follow"
        )
    return changed
