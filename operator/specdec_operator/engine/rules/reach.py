"""What keeps the probes, the guard or clients from the server, or the counters from the guard: the engine takes it, and
the pods never come up, or nobody can judge them.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from specdec_operator.engine.resolve import Resolved
from specdec_operator.engine.rule import Finding, at_flag, broken

_PLAIN_HTTP: Final = (
    "the startup probe and the guard speak plain HTTP inside the cluster; end TLS at the gateway, or in a mesh"
)
_HIDES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "uds": "a server on a socket is reached by no probe, no guard and no client; remove it, the port is 8080",
        "headless": "an engine without its server answers nobody; remove it",
        "grpc": "a gRPC server has no /health, no /metrics and no OpenAI API: no probe, no guard and no client reaches "
        "it; remove it, the server speaks HTTP on port 8080",
        "tokens_only": "the server then has no completions: the startup probe and clients of the OpenAI API get no "
        "answer; remove it",
        "data_parallel_multi_port_external_lb": "each data parallel rank then has a port of its own, and probes, guard "
        "and clients know port 8080 alone: the counters of the other ranks are read by nobody; use dataParallelSize "
        "without it",
        "ssl_keyfile": _PLAIN_HTTP,
        "ssl_certfile": _PLAIN_HTTP,
        "api_key": "the startup probe has no key from a flag, and whoever may read this object has it; put it into a "
        "Secret, and name that in engine.env as VLLM_API_KEY",
    }
)
_LOOPBACK: Final = ("127.", "localhost", "::1")


def check(resolved: Resolved) -> Iterator[Finding]:
    """Flag by flag."""
    args = resolved.case.args
    if resolved.speculates and resolved.case.switched("disable_log_stats"):
        message = (
            "without its counters (vllm:spec_decode_…) the startup probe sees no speculation and the pods never come "
            "up, and the guard could not judge them; remove it. --disable-uvicorn-access-log is what makes logs shorter"
        )
        yield at_flag("GUARD-BLIND", "disable_log_stats", True, message)
    if resolved.speculates and resolved.target is not None and resolved.target.config.get("canvas_length") is not None:
        message = (
            "the target fills in whole canvases by itself, and its engine counts those (vllm:diffusion_…) in place of "
            "drafts: nobody could judge the speculation; serve it plainly"
        )
        yield broken("DIFFUSION-BLIND", "target.canvas_length", resolved.target.config["canvas_length"], message)
    for name, why in _HIDES.items():
        if args.get(name) not in (None, False):
            yield at_flag("SERVER-HIDDEN", name, _shown(name, args[name]), why)
    host = args.get("host")
    if isinstance(host, str) and host.lower().startswith(_LOOPBACK):
        message = "only the pod itself reaches this address: no probe, no guard, no client; remove it"
        yield at_flag("SERVER-HIDDEN", "host", host, message)


def _shown(name: str, value: object) -> object:
    """A key is nothing for a status."""
    return "…" if name == "api_key" else value
