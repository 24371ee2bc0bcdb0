"""Installs, tests and removes releases of the chart on the local cluster with the real Helm."""

import json
import pathlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from hack import images
from hack.cluster import shell
from hack.helm import chart

_SECONDS: Final = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """One release. kubeconfig: of an administrator; folder: what Helm may keep (caches, settings)."""

    kubeconfig: pathlib.Path
    folder: pathlib.Path
    namespace: str = chart.NAMESPACE
    name: str = chart.RELEASE

    def upgrade(self, values: Mapping[str, Any], *words: str, source: pathlib.Path = chart.CHART) -> str:
        """`helm upgrade --install`, and wait until the release is ready. Raises ClusterError with Helm's output."""
        asked = [f"--set-json={name}={json.dumps(value)}" for name, value in values.items()]
        return self.run("upgrade", "--install", self.name, str(source), "--create-namespace", *_WAIT, *asked, *words)

    def test(self, *words: str) -> shell.CommandOutput:
        """Return the output of `helm test`, with the log of its pod."""
        return self.ask("test", self.name, f"--timeout={_SECONDS}s", *words)

    def rollback(self, revision: int) -> str:
        """Go back to an older revision. Raises ClusterError."""
        return self.run("rollback", self.name, str(revision), *_WAIT)

    def uninstall(self) -> str:
        """Remove the release. Raises ClusterError."""
        return self.run("uninstall", self.name, *_WAIT)

    def revision(self) -> int:
        """Return the number of the newest revision."""
        history: list[dict[str, Any]] = json.loads(self.run("history", self.name, "--output=json"))
        return int(history[-1]["revision"])

    def run(self, *words: str) -> str:
        """Run Helm, which must succeed."""
        return shell.run(self._command(words), timeout=_SECONDS + 10, env=self._env())

    def ask(self, *words: str) -> shell.CommandOutput:
        """Run Helm and return its answer, whatever it is."""
        return shell.ask(self._command(words), timeout=_SECONDS + 10, env=self._env())

    def _command(self, words: tuple[str, ...]) -> list[str]:
        return [str(chart.helm()), f"--kubeconfig={self.kubeconfig}", f"--namespace={self.namespace}", *words]

    def _env(self) -> dict[str, str]:
        return {"HOME": str(self.folder), "PATH": "/usr/bin:/bin"}


_WAIT: Final = ("--wait", f"--timeout={_SECONDS}s")


def values(built: images.Refs) -> dict[str, Any]:
    """The values by which the chart runs the images that were built from this tree."""
    repository, _, tag = built.operator.rpartition(":")
    return {"image.repository": repository, "image.tag": tag, "runtimes.cpu.image": built.runtime}
