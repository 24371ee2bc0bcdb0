"""A client inside the cluster: several connections to a service, every request counted, none sent twice.

    python3 client.py ADDRESS MODEL PROMPTS_JSON KIND...

Fresh connections are opened for one request; busy ones are held open and used again at once, as a gateway does; idle
ones are held open for seconds between two requests, as a pool does. Runs in a pod with nothing but the standard
library, and prints one JSON object a second: what was answered so far.
"""

import http.client
import itertools
import json
import sys
import threading
import time
from typing import Any

_PATIENCE = 60.0
_TOKENS = 12
PAUSES = {"fresh": 0.2, "busy": 0.2, "idle": 2.5}
"""Seconds between two requests of each kind of connection: less than the five after which vLLM closes an idle one."""
_FAULTS_TOLD = 5


class Tally:
    """What came of the requests, together and by kind of connection."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.answered = dict.fromkeys(PAUSES, 0)
        self.failed = 0
        self.faults: list[str] = []

    def add(self, kind: str, fault: str | None) -> None:
        """Count one request."""
        with self._lock:
            if fault is None:
                self.answered[kind] += 1
            else:
                self.failed += 1
                self.faults = [*self.faults, f"{time.strftime('%H:%M:%S')} {kind}: {fault}"][:_FAULTS_TOLD]

    def line(self) -> str:
        """All of it, as JSON."""
        with self._lock:
            return json.dumps({**self.answered, "failed": self.failed, "faults": self.faults})


def ask(connection: http.client.HTTPConnection, body: dict[str, Any]) -> str | None:
    """Send one request; returns what was wrong with its answer."""
    try:
        connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != http.client.OK:
            return f"HTTP {answer.status}: {text[:200]!r}"
        tokens = json.loads(text)["usage"]["completion_tokens"]
    except (OSError, http.client.HTTPException, ValueError, KeyError) as error:
        return repr(error)
    return None if tokens == body["max_tokens"] else f"{tokens} tokens"


def go_on(tally: Tally, kind: str, address: str, bodies: list[dict[str, Any]], first: int) -> None:
    """Ask for ever over one connection, or over a new one for each request."""
    connection = http.client.HTTPConnection(address, 80, timeout=_PATIENCE)
    for body in itertools.islice(itertools.cycle(bodies), first, None):
        fault = ask(connection, body)
        tally.add(kind, fault)
        if fault is not None or kind == "fresh":
            connection.close()
        time.sleep(PAUSES[kind])


def main(address: str, model: str, prompts: list[str], kinds: list[str]) -> None:
    """Start a connection for each kind that is named, and print the tally every second."""
    tally = Tally()
    sampling = {"model": model, "max_tokens": _TOKENS, "temperature": 0, "ignore_eos": True}
    bodies = [sampling | {"prompt": each} for each in prompts]
    for number, kind in enumerate(kinds):
        threading.Thread(target=go_on, args=(tally, kind, address, bodies, number), daemon=True).start()
    while True:
        time.sleep(1)
        print(tally.line(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), sys.argv[4:])
