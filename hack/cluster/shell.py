"""Runs a command to its end and turns a failure into one sentence. What runs on is process.py's."""

import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hack.cluster.errors import ClusterError

PATIENCE = 240.0
"""Seconds that a command, or what it waits for, may take: a loaded machine is slow, which is not a failure."""
_WORDS = 600
ENGINES = ("docker", "podman")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandOutput:
    """The exit code and the output of a command."""

    code: int
    out: str
    err: str


def ask(argv: Sequence[str], *, timeout: float = PATIENCE, env: Mapping[str, str] | None = None) -> CommandOutput:
    """Run a command and return its answer, whatever it is; 127 is an absent program, 124 a hanging one."""
    try:
        done = subprocess.run(
            list(argv), capture_output=True, text=True, timeout=timeout, env=env, check=False, stdin=subprocess.DEVNULL
        )
    except FileNotFoundError:
        return CommandOutput(code=127, out="", err=f"{argv[0]}: not found")
    except subprocess.TimeoutExpired:
        return CommandOutput(code=124, out="", err=f"no answer within {timeout:.0f} s")
    return CommandOutput(code=done.returncode, out=done.stdout, err=done.stderr)


def pipe(source: Sequence[str], sink: Sequence[str], *, timeout: float) -> None:
    """Feed one command's output to another; both must succeed. Gigabytes pass without touching the disk."""
    quiet = subprocess.DEVNULL
    with tempfile.TemporaryFile("w+") as words:
        producer = subprocess.Popen(list(source), stdin=quiet, stdout=subprocess.PIPE, stderr=words)
        consumer = subprocess.Popen(list(sink), stdin=producer.stdout, stdout=quiet, stderr=words)
        if producer.stdout:
            # The consumer has its own end. With this one left open, its death would go unnoticed.
            producer.stdout.close()
        codes = [_finished(consumer, timeout), _finished(producer, 30)]
        words.seek(0)
        told = words.read().strip()[-_WORDS:]
    if any(codes):
        both = f"{' '.join(source)} | {' '.join(sink)}"
        raise ClusterError(f"`{both}` ended with codes {codes[1]} and {codes[0]}: {told}")


def _finished(program: subprocess.Popen[bytes], timeout: float) -> int:
    try:
        return program.wait(timeout)
    except subprocess.TimeoutExpired:
        program.kill()
        return program.wait()


def run(argv: Sequence[str], *, timeout: float = PATIENCE, env: Mapping[str, str] | None = None) -> str:
    """Run a command that must succeed and return what it printed."""
    answer = ask(argv, timeout=timeout, env=env)
    if answer.code != 0:
        words = (answer.err.strip() or answer.out.strip())[-_WORDS:]
        raise ClusterError(f"`{' '.join(argv)}` ended with code {answer.code}: {words}")
    return answer.out


def container_engine() -> str | None:
    """Return the first container engine that answers: a client program without its service is not one."""
    return next((each for each in ENGINES if shutil.which(each) and ask([each, "info"], timeout=15).code == 0), None)
