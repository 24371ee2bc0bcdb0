"""What keeps the probes, the guard or clients from the server, or the counters from the guard. The engine accepts it,
but the pods never become ready, or the guard cannot judge them.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from specdec_engine.resolve import Resolved
from specdec_engine.rule import Finding, at_flag, broken

_PLAIN_HTTP: Final = (
    "the startup probe and the guard use HTTP without TLS inside the cluster; terminate TLS at the gateway, or use a "
    "mesh"
)
_HIDES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "uds": "probes, guard and clients cannot reach a server on a socket; remove it, the port is 8080",
        "headless": "an engine without its server answers no requests; remove it",
        "grpc": "a gRPC server has no /health, no /metrics and no OpenAI API, so probes, guard and clients cannot use "
        "it; remove it, the server uses HTTP on port 8080",
        "tokens_only": "with this flag the server has no completions, so the startup probe and clients of the OpenAI "
        "API get no answer; remove it",
        "data_parallel_multi_port_external_lb": "with this flag each data parallel rank has its own port, but probes, "
        "guard and clients use only port 8080, so the counters of the other "
        "ranks are not read; use dataParallelSize without it",
        "ssl_keyfile": _PLAIN_HTTP,
        "ssl_certfile": _PLAIN_HTTP,
        "api_key": "the startup probe cannot read a key from a flag, and every user who can read this object sees it; "
        "put the key into a Secret, and set VLLM_API_KEY in engine.env from it",
    }
)
_LOOPBACK: Final = ("127.", "localhost", "::1")


def check(resolved: Resolved) -> Iterator[Finding]:
    """Flag by flag."""
    args = resolved.case.args
    if resolved.speculates and resolved.case.switched("disable_log_stats"):
        message = (
            "without the engine's counters (vllm:spec_decode_…) the startup probe sees no speculation, the pods never "
            "become ready, and the guard cannot judge them; remove it. For shorter logs use "
            "--disable-uvicorn-access-log"
        )
        yield at_flag("GUARD-BLIND", "disable_log_stats", True, message)
    if resolved.speculates and resolved.target is not None and resolved.target.config.get("canvas_length") is not None:
        message = (
            "the target generates whole canvases, and its engine counts those (vllm:diffusion_…) instead of drafts, "
            "so the guard cannot judge the speculation; run the service without speculation"
        )
        yield broken("DIFFUSION-BLIND", "target.canvas_length", resolved.target.config["canvas_length"], message)
    for name, why in _HIDES.items():
        if args.get(name) not in (None, False):
            yield at_flag("SERVER-HIDDEN", name, _shown(name, args[name]), why)
    host = args.get("host")
    if isinstance(host, str) and host.lower().startswith(_LOOPBACK):
        message = "only the pod itself can reach this address, so probes, guard and clients cannot; remove it"
        yield at_flag("SERVER-HIDDEN", "host", host, message)


def _shown(name: str, value: object) -> object:
    """A key is nothing for a status."""
    return "…" if name == "api_key" else value
