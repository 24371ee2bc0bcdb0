"""The controller beside one API server: what is applied before it starts, how it is started, what is applied then.

The order matters: without its CRDs and its ConfigMap the controller ends, and once its webhooks are registered the API
server takes no runtime until it answers.
"""

import pathlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import yaml

from hack.cluster import kubectl, pki
from hack.kserve import objects
from hack.kserve.module import Built

Start = Callable[[Sequence[str], Mapping[str, str]], None]
"""Starts a program with these words and this environment, and returns once it answers."""
_LIFETIME: Final = "--duration=8760h"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """Ports of the controller on the API server's loopback."""

    webhook: int = 9443
    health: int = 8081
    metrics: int = 8080


@dataclass(frozen=True, slots=True, kw_only=True)
class KServeController:
    """One version of KServe for one API server.

    version: the one in its Deployment. kubeconfig: an administrator's. inner: a kubeconfig with the API server's
    address as the controller reaches it. folder: for its keys, removed with the cluster.
    """

    built: Built
    version: str
    kubeconfig: pathlib.Path
    inner: pathlib.Path
    folder: pathlib.Path
    ports: Ports = Ports()

    def install(self, start: Start) -> None:
        """Install upstream's manifests and start the controller. May be repeated. Raises ClusterError."""
        found = self.built.objects()
        self.install_definitions(found)
        self._apply("before", objects.before_start(found, version=self.version))
        self._make_keys()
        start(self.words(), self.environment())
        authority = (self._certificates / "tls.crt").read_bytes()
        self._apply("webhooks", objects.webhooks(found, port=self.ports.webhook, authority=authority))
        self._apply("after", objects.after_start(found, version=self.version))

    def install_definitions(self, found: list[objects.Object] | None = None) -> None:
        """Install the CRDs alone and wait until they are served. found: upstream's objects, if already read."""
        wanted = objects.definitions(self.built.objects() if found is None else found)
        self._apply("crds", wanted)
        kubectl.wait_established(self.kubeconfig, [each["metadata"]["name"] for each in wanted])

    def remove_webhooks(self) -> None:
        """Have the API server ask no webhook of KServe's any more: one that is gone refuses every pod."""
        for each in (each for each in self.built.objects() if each["kind"].endswith("WebhookConfiguration")):
            kind, _, name = objects.key_of(each)
            kubectl.ask(self.kubeconfig, "delete", f"{kind}/{name}", "--ignore-not-found")

    def words(self) -> list[str]:
        """The command."""
        return [
            str(self.built.manager),
            f"--webhook-port={self.ports.webhook}",
            f"--health-probe-addr=127.0.0.1:{self.ports.health}",
            f"--metrics-addr=127.0.0.1:{self.ports.metrics}",
        ]

    def environment(self) -> dict[str, str]:
        """Its variables: the API server's kubeconfig, its ConfigMap's namespace, and the folder of webhooks' keys."""
        return {
            "KUBECONFIG": str(self.folder / "kubeconfig"),
            "POD_NAMESPACE": objects.NAMESPACE,
            "TMPDIR": str(self.folder),
        }

    @property
    def _certificates(self) -> pathlib.Path:
        return self.folder / "k8s-webhook-server" / "serving-certs"

    def _make_keys(self) -> None:
        """A certificate for the webhooks, and a kubeconfig with the rights of KServe's own account and no more."""
        self._certificates.mkdir(parents=True, exist_ok=True)
        pki.self_signed(self._certificates, "tls", "/CN=kserve-webhook", names="IP:127.0.0.1")
        words = ["create", "token", objects.ACCOUNT, f"--namespace={objects.NAMESPACE}", _LIFETIME]
        token = kubectl.run(self.kubeconfig, *words).strip()
        content = yaml.safe_load(self.inner.read_text())
        content["users"] = [{"name": each["name"], "user": {"token": token}} for each in content["users"]]
        pki.write_private(self.folder / "kubeconfig", yaml.safe_dump(content, sort_keys=False))

    def _apply(self, name: str, items: list[objects.Object]) -> None:
        """Apply some objects; the file stays, so that one can read what was applied."""
        kubectl.apply(self.kubeconfig, items, self.folder / f"{name}.json")
