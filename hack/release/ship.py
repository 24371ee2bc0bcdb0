"""The steps of a release after something was built: read what was pushed, sign it, package and push the chart.

A folder holds, for each image, TARGET.ARCH.txt with NAME:TAG@DIGEST and its bills of materials TARGET.ARCH.*.cdx.json.
"""

import json
import pathlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hack.release import chart, index, names, provenance, pushed
from hack.release.pushed import Pushed, ReleaseRefused
from hack.release.signed import Cosign


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """One release. images: the folder of what was pushed; without: the targets that it leaves out; join: what writes an
    index; helm: the program; http: whether the registry has no TLS.
    """

    run: provenance.ReleaseRun
    images: pathlib.Path
    without: frozenset[str] = frozenset()
    join: index.Join = index.buildx
    cosign: Cosign = field(default_factory=Cosign)
    helm: str = "helm"
    http: bool = False

    def sign(self, target: str, arch: str, arguments: Mapping[str, str]) -> Pushed:
        """Sign an image for one processor, its bills of materials and its provenance. Raises Refused."""
        image = pushed.read_one(self.images, f"{target}.{arch}")
        bills = self._bills(f"{target}.{arch}")
        self.cosign.sign(image, bills, provenance.of_image(self.run, target, arch, arguments))
        return image

    def ship_index(self, target: str, architectures: Sequence[str]) -> Pushed:
        """Give a target's images one name, and sign it with all of their bills of materials. Raises Refused."""
        parts = [pushed.read_one(self.images, f"{target}.{arch}") for arch in architectures]
        wanted = names.images(target, names.version())
        made = index.joined(self.join, parts[0].registry, wanted, parts)
        (self.images / f"{target}.txt").write_text(f"{made.tagged}@{made.digest}\n", encoding="utf-8")
        self.cosign.sign(made, self._bills(target), provenance.of_index(self.run, target, parts))
        return made

    def _bills(self, name: str) -> list[dict[str, Any]]:
        bills = [json.loads(each.read_text("utf-8")) for each in sorted(self.images.glob(f"{name}.*.cdx.json"))]
        if not bills:
            raise ReleaseRefused(f"{self.images}: no {name}.*.cdx.json: copy them out of the image's /opt/sbom first")
        return bills

    def ship_chart(self, out: pathlib.Path) -> Pushed:
        """Package the chart with the images' digests, push it to their registry, and sign it with what is in it."""
        images = pushed.read(self.images, self.without)
        out.mkdir(parents=True, exist_ok=True)
        archive = chart.package(images, out, helm=self.helm, source=self.run.source)
        made = chart.push(archive, pushed.registry(images), *(("--plain-http",) if self.http else ()), helm=self.helm)
        bill = chart.bill(made, images)
        (out / "chart.cdx.json").write_text(json.dumps(bill, indent=1), encoding="utf-8")
        self.cosign.sign(made, [bill], provenance.of_chart(self.run, images))
        return made

    def sign_files(self, folder: pathlib.Path) -> list[pathlib.Path]:
        """Sign where each file of a folder comes from; return the bundles, which lie beside them. Raises Refused."""
        predicate = provenance.of_files(self.run)
        return [self.cosign.sign_file(file, predicate) for file in sorted(folder.iterdir())]
