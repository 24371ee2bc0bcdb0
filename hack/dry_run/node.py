"""Installs a release on the local cluster as a stranger does: chart and images from the registry, the sample from the
release's files, nothing from the checkout. Then it waits until the sample drafts.

Only what the stranger's cluster would have is made here: the cluster with its KServe, and a PVC with models.
"""

import itertools
import json
import pathlib
import re
import subprocess
import tarfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from hack.cluster import containers, kubectl, lifecycle, paths, record, shell, volumes
from hack.cluster.errors import ClusterError
from hack.helm import chart
from hack.models import store
from hack.release.pushed import Pushed

_SAMPLE, _NAMESPACE, _NAME = "demo-speculative.yaml", "demo", "tiny"
_CRD: Final = "speculativeinferenceservices.serving.specdec.io"
_RUNTIMES: Final = ("clusterservingruntimes", "--selector=app.kubernetes.io/part-of=specdec-operator")
_SECONDS: Final = 600
_ANSWER_SECONDS: Final = 60
_FORWARDING: Final = re.compile(r"Forwarding from (127\.0\.0\.1:\d+) ")
_DRAFTING: Final = ("SpeculationActive", "True", "Drafting")
_PROMPTS: Final = "code"
_IN: Final = f"--namespace={_NAMESPACE}"
_UNINSTALL: Final = (f"--namespace={chart.NAMESPACE}", "--wait", "--ignore-not-found", f"--timeout={_SECONDS}s")


def up(say: Callable[[str], None]) -> pathlib.Path:
    """Bring the cluster up and return its network namespace. Raises ClusterError where the operator is installed."""
    lifecycle.up(say)
    if record.running().driver is not record.ClusterDriver.NODE:
        raise ClusterError(
            "the local cluster runs in containers, which have a loopback of their own: the registry on this machine's "
            "loopback cannot be reached from there. Run `make release-dry-run NODE=no`, or stop the container engine"
        )
    if kubectl.get(kubectl.config(), "crd", _CRD):
        raise ClusterError("the local cluster has this project's CRD already: `make cluster-down`, then try again")
    return paths.layout().namespace


def drafting(status: Mapping[str, Any]) -> str | None:
    """Return the message of the condition once the draft is used and a window has passed; None until then."""
    for each in status.get("conditions", []):
        if (each["type"], each["status"], each["reason"]) == _DRAFTING and _passed(status):
            return str(each["message"])
    return None


def _passed(status: Mapping[str, Any]) -> bool:
    return bool(status.get("guard", {}).get("verdict") == "Pass")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stranger:
    """A user with a cluster, Helm and kubectl. folder: empty; the user's home and working directory."""

    folder: pathlib.Path
    helm: str
    say: Callable[[str], None]

    def installs(self, made: Pushed, images: Mapping[str, Pushed]) -> None:
        """Install the chart from the registry, and check that the node pulled the operator's image from there."""
        where = f"oci://{made.registry}/{made.repository}"
        waits = ("--create-namespace", "--wait", f"--timeout={_SECONDS}s", "--plain-http")
        command = ("install", chart.RELEASE, where, f"--version={made.tag}", f"--namespace={chart.NAMESPACE}", *waits)
        self.say(f"$ helm {' '.join(command)}")
        self._run([self.helm, f"--kubeconfig={kubectl.config()}", *command])
        self._say_pulled(chart.NAMESPACE, images["operator"])

    def runs(self, samples: pathlib.Path, images: Mapping[str, Pushed]) -> None:
        """Apply the sample, send traffic, and wait until it drafts. samples: the archive of the release."""
        models = store.ensure()
        volumes.ensure_models(models, _NAMESPACE)
        with tarfile.open(samples) as archive:
            archive.extract(_SAMPLE, self.folder, filter="data")
        self._kubectl("apply", f"--filename={_SAMPLE}")
        self.say(f"applied   {_SAMPLE} of {samples.name}")
        self._kubectl("wait", f"sis/{_NAME}", _IN, "--for=condition=Ready", f"--timeout={_SECONDS}s")
        self._say_pulled(_NAMESPACE, images["cpu"])
        message = self._traffic(json.loads((models / "prompts.json").read_text(encoding="utf-8"))[_PROMPTS])
        self.say(f"drafts    {'/'.join(_DRAFTING)}: {message}")
        print(self._kubectl("get", f"sis/{_NAME}", _IN).rstrip(), flush=True)

    def leaves(self, registry: str) -> None:
        """Remove everything again, and the images of this registry from the node."""
        ask = self._ask
        ask("delete", "sis", "--all", "--all-namespaces", "--timeout=120s")
        shell.ask(self._words([self.helm, f"--kubeconfig={kubectl.config()}", "uninstall", chart.RELEASE, *_UNINSTALL]))
        for words in (("crd", _CRD), _RUNTIMES, ("namespace", chart.NAMESPACE, _NAMESPACE)):
            ask("delete", *words, "--ignore-not-found", "--timeout=120s")
        ask(
            "delete",
            f"pv/{volumes.volume_name(store.folder().resolve(), _NAMESPACE)}",
            "--ignore-not-found",
            "--timeout=60s",
        )
        containers.forget(paths.layout(), registry)
        self.say("removed   release, sample, and the images that the node pulled")

    def _traffic(self, prompts: Sequence[str]) -> str:
        """Ask for completions until the draft is used and a window passes; return the message of the condition."""
        forward = ("port-forward", f"deployment/{_NAME}-predictor", _IN, ":8080")
        status: Mapping[str, Any] = {}
        until = time.monotonic() + _SECONDS
        with forwarded(self._words(kubectl.command(kubectl.config(), *forward))) as address:
            for number, prompt in enumerate(itertools.cycle(prompts), start=1):
                complete(address, _NAME, prompt)
                status = (kubectl.get(kubectl.config(), f"sis/{_NAME}", _IN) or {}).get("status", {})
                if (message := drafting(status)) is not None:
                    self.say(f"asked     {number} completions")
                    return message
                if time.monotonic() > until:
                    break
        raise ClusterError(f"{_NAME} does not draft within {_SECONDS} s and {number} completions: {status}")

    def _say_pulled(self, namespace: str, image: Pushed) -> None:
        """The node must have pulled this image by its digest: it ran no other, and imported none."""
        pods = json.loads(self._kubectl("get", "pods", f"--namespace={namespace}", "--output=json"))["items"]
        running = {each["imageID"] for pod in pods for each in pod["status"].get("containerStatuses", [])}
        if image.name not in running:
            raise ClusterError(f"the pods of {namespace} run {sorted(running)}, and not {image.name}")
        events = ("get", "events", f"--namespace={namespace}", "--field-selector=reason=Pulled", "--output=json")
        told = [each["message"] for each in json.loads(self._kubectl(*events))["items"]]
        pulled = [each for each in told if each.startswith("Successfully pulled") and image.digest in each]
        if not pulled:
            raise ClusterError(f"no event of {namespace} shows that {image.name} was pulled: {told}")
        how = pulled[0].rpartition('"')[2].strip()
        self.say(f"pulled    {image.repository}@{image.digest[:19]}…: {how}")

    def _kubectl(self, *words: str) -> str:
        return self._run(kubectl.command(kubectl.config(), *words))

    def _ask(self, *words: str) -> shell.CommandOutput:
        return shell.ask(self._words(kubectl.command(kubectl.config(), *words)), timeout=_SECONDS)

    def _run(self, command: list[str]) -> str:
        return shell.run(self._words(command), timeout=_SECONDS + 10)

    def _words(self, command: list[str]) -> list[str]:
        """A command in their folder, with nothing of this process' environment."""
        return ["env", "-i", f"--chdir={self.folder}", f"HOME={self.folder}", "PATH=/usr/bin:/bin", *command]


@contextmanager
def forwarded(command: Sequence[str]) -> Iterator[str]:
    """Run `kubectl port-forward` for the length of a block; give its address. Raises ClusterError with its output."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as running:
        try:
            said = running.stdout.readline() if running.stdout else ""
            found = _FORWARDING.match(said)
            if found is None:
                raise ClusterError(f"`{' '.join(command)}` forwards nothing: {said.strip()}")
            yield found[1]
        finally:
            running.terminate()


def complete(address: str, model: str, prompt: str) -> str:
    """Return the text that a model writes after a prompt. Raises ClusterError with the server's answer."""
    body = {"model": model, "prompt": prompt, "max_tokens": 96, "temperature": 0}
    headers = {"Content-Type": "application/json"}
    url = f"http://{address}/v1/completions"
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=_ANSWER_SECONDS) as answer:  # noqa: S310
            return str(json.load(answer)["choices"][0]["text"])
    except urllib.error.HTTPError as error:
        told = error.read().decode(errors="replace")[:300]
        raise ClusterError(f"POST {url}: {model} answers {error.code}: {told}") from error
    except OSError as error:
        raise ClusterError(f"POST {url}: {model} does not answer: {error}") from error
