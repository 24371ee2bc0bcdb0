"""A container's own liveness probe, as the service keeps it: at the port on which the operator's runtimes listen."""

import copy
import re
from dataclasses import dataclass
from typing import Any, Final

from specdec_command.importing.manifest import Lost, Replaced
from specdec_operator.guest.liveness import notices_hangs
from specdec_operator.observe.pods import ENGINE_PORT

_BY_PORT: Final = ("httpGet", "tcpSocket", "grpc")
_PORT: Final = re.compile(r"(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\]):(\d{1,5})\b|--port[= ](\d{1,5})\b")
_NOTE: Final = (
    "engine.livenessProbe does not notice an engine that hangs: vLLM answers /health with 200 all the time. Without "
    "this field the operator's own probe does (docs/runtime.md#the-liveness-probe)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptProbe:
    """What becomes of a probe. probe: None if it cannot be kept. note: what it does not notice; empty: nothing."""

    probe: dict[str, Any] | None = None
    replaced: tuple[Replaced, ...] = ()
    lost: tuple[Lost, ...] = ()
    note: str = ""


def kept_probe(probe: dict[str, Any], where: str) -> KeptProbe:
    """The probe, asking at the engine's port. where: its place in what is imported."""
    if others := _ports_in(probe) - {ENGINE_PORT}:
        why = f"its command asks at port {min(others)}, and the engine will listen on {ENGINE_PORT}"
        way_out = f"set spec.engine.livenessProbe with port {ENGINE_PORT}"
        return KeptProbe(lost=(Lost(field=where, why=why, way_out=way_out),))
    kept, replaced = copy.deepcopy(probe), list[Replaced]()
    for kind in _BY_PORT:
        asked = kept.get(kind)
        if isinstance(asked, dict) and asked.get("port", ENGINE_PORT) != ENGINE_PORT:
            by = f"port {ENGINE_PORT}, where the engine listens"
            replaced.append(Replaced(field=f"{where}.{kind}.port ({asked['port']})", by=by))
            asked["port"] = ENGINE_PORT
    note = "" if notices_hangs({"livenessProbe": kept}) else _NOTE
    return KeptProbe(probe=kept, replaced=tuple(replaced), note=note)


def _ports_in(probe: dict[str, Any]) -> set[int]:
    """The ports of this host that its command names."""
    run = probe.get("exec")
    words = " ".join(map(str, run.get("command") or ())) if isinstance(run, dict) else ""
    return {int(port) for found in _PORT.findall(words) for port in found if port}
