"""The commands of the runtime image: serve, preflight, prove, drain. It only picks one."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from specdec_runtime import arrival, drain, flags, launch, preflight, prove, refusal

if TYPE_CHECKING:
    from collections.abc import Sequence


def serve(arguments: Sequence[str]) -> int:
    """Look at the models, then become vLLM."""
    try:
        read = flags.read(arguments)
        arrival.wait(read, os.environ)
        preflight.enforce(preflight.inspect(read))
    except refusal.RefusedError as refused:
        return refusal.report(refused.refusal)
    launch.start(read, arguments)
    return 0


def look(arguments: Sequence[str]) -> int:
    """Print every finding on a target and, where given, a draft model."""
    parser = argparse.ArgumentParser(prog="specdec_runtime preflight")
    parser.add_argument("target", type=Path, help="folder of the target model")
    parser.add_argument("draft", type=Path, nargs="?", help="folder of the draft model")
    parser.add_argument("--method", default="draft_model", help="speculative method (default: draft_model)")
    parser.add_argument("--max-model-len", type=int, help="context that the server will be started with")
    given = parser.parse_args(arguments)
    speculation = {"method": given.method, "model": str(given.draft.absolute())} if given.draft else None
    findings = preflight.inspect(
        flags.Flags(
            model=str(given.target.absolute()),
            speculation=speculation,
            port=flags.DEFAULT_PORT,
            max_model_len=given.max_model_len,
            load_format="auto",
        )
    )
    for finding in findings:
        print(f"{finding.severity}: {finding.id}: {finding.field}: {finding.sentence}")
    refused = any(finding.severity == "refuse" for finding in findings)
    print("preflight: refused" if refused else "preflight: nothing stands against a start")
    return refusal.EXIT_CODE if refused else 0


def probe(arguments: Sequence[str]) -> int:
    """Say whether the server on this host generates and speculates."""
    parser = argparse.ArgumentParser(prog="specdec_runtime prove")
    parser.add_argument("--port", type=int, default=flags.DEFAULT_PORT)
    parser.add_argument("--timeout", type=float, default=8.0, help="seconds for everything together")
    given = parser.parse_args(arguments)
    proof = prove.prove(given.port, given.timeout, launch.plan_path())
    print(proof.sentence)
    return 0 if proof.ok else 1


def empty(arguments: Sequence[str]) -> int:
    """Wait until the server on this host has answered all that it was asked."""
    parser = argparse.ArgumentParser(prog="specdec_runtime drain")
    parser.add_argument("--port", type=int, default=flags.DEFAULT_PORT)
    parser.add_argument("--timeout", type=float, default=50.0, help="seconds to wait at most")
    given = parser.parse_args(arguments)
    print(drain.drain(given.port, given.timeout))
    return 0


_COMMANDS = {"serve": serve, "preflight": look, "prove": probe, "drain": empty}


def main(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    command = _COMMANDS.get(arguments[0]) if arguments else None
    if command is None:
        print(f"usage: python3 -m specdec_runtime {'|'.join(_COMMANDS)} ...", file=sys.stderr)
        return 2
    return command(arguments[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
