"""Signs what a release ships, with cosign: images and the chart in their registry, files beside themselves.

Each gets a signature, its bills of materials (CycloneDX 1.6) and its provenance (SLSA 1). Without options the signer is
the workflow's own identity, and the public log of signatures has an entry of it.
"""

import json
import pathlib
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from hack.release.command import run
from hack.release.pushed import Pushed

BILL, PROVENANCE = "cyclonedx", "slsaprovenance1"
BUNDLE: Final = ".sigstore.json"
"""What a file's signed provenance is called, after the file's own name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cosign:
    """The program. options: with which key and where it signs; none for a workflow's identity."""

    program: str = "cosign"
    options: tuple[str, ...] = ()

    def sign(self, artifact: Pushed, bills: Iterable[Mapping[str, Any]], provenance: Mapping[str, Any]) -> None:
        """Sign an artifact in a registry and attest its materials. Raises Refused with cosign's output."""
        self._run("sign", artifact.name)
        for kind, predicate in (*((BILL, each) for each in bills), (PROVENANCE, provenance)):
            self._attest("attest", kind, predicate, artifact.name)

    def sign_file(self, file: pathlib.Path, provenance: Mapping[str, Any]) -> pathlib.Path:
        """Sign where a file comes from; return the bundle. Raises Refused."""
        bundle = file.with_name(file.name + BUNDLE)
        self._attest("attest-blob", PROVENANCE, provenance, f"--bundle={bundle}", str(file))
        return bundle

    def _attest(self, verb: str, kind: str, predicate: Mapping[str, Any], *words: str) -> None:
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
            json.dump(predicate, file)
            file.flush()
            self._run(verb, f"--type={kind}", f"--predicate={file.name}", *words)

    def _run(self, verb: str, *words: str) -> None:
        run(self.program, verb, "--yes", *self.options, *words)
