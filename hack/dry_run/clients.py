"""Clients of a service on the local cluster, as README has them: a forwarded port, and completions over HTTP."""

import json
import re
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from hack.cluster.errors import ClusterError

_SECONDS = 60
_FORWARDING = re.compile(r"Forwarding from (127\.0\.0\.1:\d+) ")


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
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310
            return str(json.load(answer)["choices"][0]["text"])
    except urllib.error.HTTPError as error:
        told = error.read().decode(errors="replace")[:300]
        raise ClusterError(f"POST {url}: {model} answers {error.code}: {told}") from error
    except OSError as error:
        raise ClusterError(f"POST {url}: {model} does not answer: {error}") from error
