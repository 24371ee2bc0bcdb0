"""Runs a command to its end and turns a failure into one sentence. What runs on is process.py's."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hack.cluster.errors import ClusterError

_WORDS = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a command said."""

    code: int
    out: str
    err: str


def ask(argv: Sequence[str], *, timeout: float = 60.0, env: Mapping[str, str] | None = None) -> Answer:
    """Run a command and return its answer, whatever it is; 127 is an absent program, 124 a hanging one."""
    try:
        done = subprocess.run(
            list(argv),
            capture_output=True,
            text=True,
            timeout=timeout,
            env=env,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except FileNotFoundError:
        return Answer(code=127, out="", err=f"{argv[0]}: not found")
    except subprocess.TimeoutExpired:
        return Answer(code=124, out="", err=f"no answer within {timeout:.0f} s")
    return Answer(code=done.returncode, out=done.stdout, err=done.stderr)


def run(argv: Sequence[str], *, timeout: float = 60.0, env: Mapping[str, str] | None = None) -> str:
    """Run a command that must succeed and return what it printed."""
    answer = ask(argv, timeout=timeout, env=env)
    if answer.code != 0:
        words = (answer.err.strip() or answer.out.strip())[-_WORDS:]
        raise ClusterError(f"`{' '.join(argv)}` ended with code {answer.code}: {words}")
    return answer.out
