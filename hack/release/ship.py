"""The steps of a release after something was built: read what was pushed, sign it, package and push the chart.

A folder holds TARGET.txt with NAME:TAG@DIGEST, and beside it the bills of materials TARGET.*.cdx.json, for each image.
"""

import json
import pathlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from hack.release import chart, provenance, pushed
from hack.release.pushed import Pushed, Refused
from hack.release.signed import Cosign


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """One release. images: the folder of what was pushed; helm: the program; http: whether the registry has no TLS."""

    run: provenance.Run
    images: pathlib.Path
    cosign: Cosign = field(default_factory=Cosign)
    helm: str = "helm"
    http: bool = False

    def sign(self, target: str, arguments: Mapping[str, str]) -> Pushed:
        """Sign an image, its bills of materials and its provenance. Raises Refused."""
        image = pushed.read_one(self.images, target)
        bills = [json.loads(each.read_text("utf-8")) for each in sorted(self.images.glob(f"{target}.*.cdx.json"))]
        if not bills:
            raise Refused(f"{self.images}: no {target}.*.cdx.json: copy them out of the image's /opt/sbom first")
        self.cosign.sign(image, bills, provenance.of_image(self.run, target, arguments))
        return image

    def ship_chart(self, out: pathlib.Path) -> Pushed:
        """Package the chart with the images' digests, push it to their registry, and sign it with what is in it."""
        images = pushed.read(self.images)
        out.mkdir(parents=True, exist_ok=True)
        archive = chart.package(images, out, helm=self.helm)
        made = chart.push(archive, pushed.registry(images), *(("--plain-http",) if self.http else ()), helm=self.helm)
        bill = chart.bill(made, images)
        (out / "chart.cdx.json").write_text(json.dumps(bill, indent=1), encoding="utf-8")
        self.cosign.sign(made, [bill], provenance.of_chart(self.run, images))
        return made

    def sign_files(self, folder: pathlib.Path) -> list[pathlib.Path]:
        """Sign where each file of a folder comes from; return the bundles, which lie beside them. Raises Refused."""
        predicate = provenance.of_files(self.run)
        return [self.cosign.sign_file(file, predicate) for file in sorted(folder.iterdir())]
