"""Who asked the API server for what, by its own audit log."""

import json
import pathlib
from collections import Counter
from dataclasses import dataclass

POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived", "ResponseStarted"],
    "rules": [{"level": "Metadata"}],
}
_WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})
_OPERATOR = ("specdec-operator", "kopf")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestCounts:
    """Requests of the operator in a span of time, its watches not counted. writes: by verb and resource."""

    reads: int
    writes: Counter[str]


class Audit:
    """The log, read on from where it was read last."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.policy = folder / "audit-policy.json"
        self.log = folder / "audit.log"
        self.policy.write_text(json.dumps(POLICY))
        self._read = 0

    def flags(self) -> tuple[str, ...]:
        """What the API server is started with."""
        return (f"--audit-policy-file={self.policy}", f"--audit-log-path={self.log}", "--audit-log-maxsize=2000")

    def skip(self) -> None:
        """Forgets what was asked so far."""
        self._read = self.log.stat().st_size

    def since(self) -> RequestCounts:
        """What was asked since the last look."""
        with self.log.open() as handle:
            handle.seek(self._read)
            lines = handle.read().rpartition("\n")[0]
        self._read += len(lines.encode())
        reads, writes = 0, Counter[str]()
        for line in lines.splitlines():
            event = json.loads(line or "{}")
            if not str(event.get("userAgent", "")).startswith(_OPERATOR):
                continue
            where = event.get("objectRef", {})
            what = "/".join(part for part in (where.get("resource"), where.get("subresource")) if part)
            if event["verb"] in _WRITES:
                writes[f"{event['verb']} {what}"] += 1
            elif event["verb"] != "watch":
                reads += 1
        return RequestCounts(reads=reads, writes=writes)
