"""A key of cosign's for one dry run, and the checks that a user makes with its public half.

A real release has no key: its workflow's identity signs, and a public log has an entry. Neither is within reach here:
the files `signing.json` and `trust.json` name no service, so that none is asked.
"""

import base64
import json
import pathlib
from dataclasses import dataclass
from typing import Any

from hack.release import command
from hack.release.provenance import ReleaseRun
from hack.release.pushed import Pushed, ReleaseRefused
from hack.release.signed import BILL, PROVENANCE, Cosign


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key pair in a folder."""

    program: str
    folder: pathlib.Path
    name: str

    def make(self) -> "Key":
        """Write the files. Raises Refused with cosign's output."""
        command.run(self.program, "generate-key-pair", f"--output-key-prefix={self.folder / self.name}")
        command.run(self.program, "signing-config", "create", f"--out={self.folder / 'signing.json'}")
        command.run(self.program, "trusted-root", "create", f"--out={self.folder / 'trust.json'}")
        return self

    def cosign(self) -> Cosign:
        """What signs with it."""
        key, services = f"--key={self.folder / self.name}.key", f"--signing-config={self.folder / 'signing.json'}"
        return Cosign(program=self.program, options=(key, services, self._trust()))

    def verify(self, name: str) -> None:
        """The artifact of this name, by tag or by digest, is signed. Raises Refused."""
        command.run(self.program, "verify", *self._public(), name)

    def attested(self, artifact: Pushed, kind: str) -> list[dict[str, Any]]:
        """Return what was signed of the artifact: its bills of materials, or its provenance. Raises Refused."""
        said = command.run(self.program, "verify-attestation", *self._public(), f"--type={kind}", artifact.name)
        envelopes = [json.loads(line) for line in said.splitlines() if line.startswith('{"payload"')]
        return [json.loads(base64.b64decode(each["payload"]))["predicate"] for each in envelopes]

    def verify_file(self, file: pathlib.Path, bundle: pathlib.Path) -> None:
        """The file is the one whose provenance the bundle holds. Raises Refused."""
        words = (f"--type={PROVENANCE}", f"--bundle={bundle}", str(file))
        command.run(self.program, "verify-blob-attestation", *self._public(), *words)

    def check(self, artifact: Pushed, run: ReleaseRun) -> str:
        """All that a user checks of an artifact, in a sentence. Raises Refused."""
        self.verify(artifact.name)
        bills = self.attested(artifact, BILL)
        provenance = self.attested(artifact, PROVENANCE)[-1]
        made = provenance["buildDefinition"]["resolvedDependencies"]
        said = (provenance["runDetails"]["builder"]["id"], made[0]["digest"]["gitCommit"])
        if said != (run.builder, run.commit):
            raise ReleaseRefused(f"{artifact.name}: its provenance says {said}, and not {run.builder} at {run.commit}")
        parts, sources = sum(len(each["components"]) for each in bills), len(made)
        return f"signed, {len(bills)} SBOM with {parts} components, provenance of {sources} sources"

    def _public(self) -> tuple[str, ...]:
        return (f"--key={self.folder / self.name}.pub", "--insecure-ignore-tlog", self._trust())

    def _trust(self) -> str:
        return f"--trusted-root={self.folder / 'trust.json'}"
