"""Folds conditions as Knative's library does, which KServe uses: Ready follows what it depends on.

A condition's time moves whenever anything in it changes, not only its status.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.kserve_standin.model import Manifest

READY = "Ready"
PREDICTOR_READY = "PredictorReady"
INGRESS_READY = "IngressReady"
STOPPED = "Stopped"
IMAGE_VOLUMES = "OciImageVolumeCompatible"
_DEPENDENTS = (PREDICTOR_READY, INGRESS_READY)


@dataclass(slots=True, kw_only=True)
class Conditions:
    """The conditions of one InferenceService in one reconcile; `now` is the time of every change."""

    found: dict[str, Manifest]
    now: str

    @classmethod
    def of(cls, status: Manifest, now: str) -> Conditions:
        """Take the conditions out of a status."""
        return cls(found={item["type"]: item for item in status.get("conditions", [])}, now=now)

    def listed(self) -> list[Manifest]:
        """Return the conditions in the order in which KServe writes them."""
        return [self.found[kind] for kind in sorted(self.found)]

    def status(self, kind: str) -> str | None:
        """Return True, False, Unknown, or None for a condition that is absent."""
        return self.found[kind]["status"] if kind in self.found else None

    def initialize(self) -> None:
        """Say Unknown for everything that nobody has judged yet."""
        if READY in self.found:
            return
        for kind in (READY, *_DEPENDENTS):
            if kind not in self.found:
                self._set(kind, "Unknown")

    def mark(self, kind: str, status: str, reason: str = "", message: str = "") -> None:
        """Set one condition and let Ready follow it."""
        self._set(kind, status, reason, message)
        if kind not in _DEPENDENTS:
            if status == "True":
                self._follow()
        elif status == "True":
            self._follow()
        elif status == "False":
            self._set(READY, status, reason, message)
        else:
            self._mark_unknown(reason, message)

    def _mark_unknown(self, reason: str, message: str) -> None:
        # A dependent that is False outweighs one that is Unknown.
        if any(self.status(kind) == "False" for kind in _DEPENDENTS):
            if self.status(READY) != "False":
                self._set(READY, "False", reason, message)
        else:
            self._set(READY, "Unknown", reason, message)

    def _follow(self) -> None:
        unhappy = self._unhappy()
        if unhappy is None:
            self._set(READY, "True")
        else:
            self._set(READY, unhappy["status"], unhappy.get("reason", ""), unhappy.get("message", ""))

    def _unhappy(self) -> Manifest | None:
        """Return the newest dependent that is False, else the newest Unknown one, else None."""
        present = [self.found[kind] for kind in _DEPENDENTS if kind in self.found]
        newest_first = sorted(present, key=lambda item: item["lastTransitionTime"], reverse=True)
        for status in ("False", "Unknown"):
            for item in newest_first:
                if item["status"] == status:
                    return item
        return {"status": "Unknown"} if len(present) < len(_DEPENDENTS) else None

    def _set(self, kind: str, status: str, reason: str = "", message: str = "") -> None:
        new = {"type": kind, "status": status}
        new |= {name: value for name, value in (("reason", reason), ("message", message)) if value}
        if kind not in (READY, *_DEPENDENTS):
            new["severity"] = "Info"  # nothing follows this condition
        old = self.found.get(kind, {})
        if {name: value for name, value in old.items() if name != "lastTransitionTime"} != new:
            self.found[kind] = {**new, "lastTransitionTime": self.now}
