"""The commands of the runtime image: serve, preflight, prove, alive, drain. It only picks one."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from specdec_runtime import alive, arrival, drain, flags, launch, prove, refusal, stop
from specdec_runtime.api import NotAnsweredError

if TYPE_CHECKING:
    from collections.abc import Sequence

PROOF = 25.0
"""Seconds for 32 tokens, so that a slow engine is up, too: below the 30 that the kubelet gives the probe."""


def serve(arguments: Sequence[str]) -> int:
    """Look at the models, then become vLLM."""
    stop.interrupt_start()
    try:
        read = flags.read(arguments)
        arrival.wait(read, os.environ)
        from specdec_runtime import facts, preflight  # noqa: PLC0415 - most of the import, and each probe would pay it

        case = preflight.gather(read)
        preflight.enforce(preflight.judge(case) if case else ())
    except refusal.RefusedError as refused:
        return refusal.report(refused.refusal)
    facts.leave(case)
    launch.start(read, arguments)
    return 0


def inspect(arguments: Sequence[str]) -> int:
    """Look at the models."""
    from specdec_runtime import preflight  # noqa: PLC0415 - as above

    return preflight.command(arguments)


def probe(arguments: Sequence[str]) -> int:
    """Print whether the server on this host generates and speculates."""
    parser = argparse.ArgumentParser(prog="specdec_runtime prove")
    parser.add_argument("--port", type=int, default=flags.DEFAULT_PORT)
    parser.add_argument("--timeout", type=float, default=PROOF, help="timeout of the whole proof, in seconds")
    given = parser.parse_args(arguments)
    proof = prove.prove(given.port, given.timeout, launch.plan_path(), os.environ.get("VLLM_API_KEY"))
    print(proof.sentence)
    return 0 if proof.ok else 1


def still_alive(arguments: Sequence[str]) -> int:
    """Print whether the server on this host works."""
    parser = argparse.ArgumentParser(prog="specdec_runtime alive")
    parser.add_argument("--port", type=int, default=flags.DEFAULT_PORT)
    parser.add_argument("--timeout", type=float, default=PROOF, help="timeout of one token, in seconds")
    given = parser.parse_args(arguments)
    probe = alive.LivenessProbe(port=given.port, seconds=given.timeout, key=os.environ.get("VLLM_API_KEY"))
    try:
        print(probe.look())
    except NotAnsweredError as error:
        print(f"not alive: {error}")
        return 1
    return 0


def empty(arguments: Sequence[str]) -> int:
    """Wait until the server on this host has answered all that it was asked."""
    parser = argparse.ArgumentParser(prog="specdec_runtime drain")
    parser.add_argument("--port", type=int, default=flags.DEFAULT_PORT)
    parser.add_argument("--timeout", type=float, default=50.0, help="maximum wait, in seconds")
    given = parser.parse_args(arguments)
    print(drain.drain(given.port, given.timeout))
    return 0


_COMMANDS = {"serve": serve, "preflight": inspect, "prove": probe, "alive": still_alive, "drain": empty}


def main(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    command = _COMMANDS.get(arguments[0]) if arguments else None
    if command is None:
        print(f"usage: python3 -m specdec_runtime {'|'.join(_COMMANDS)} ...", file=sys.stderr)
        return 2
    return command(arguments[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
