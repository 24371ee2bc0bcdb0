"""Runs the programs of a release."""

import subprocess

from hack.release.pushed import ReleaseRefused


def run(*words: str) -> str:
    """Return the whole output of a program. Raises Refused with the end of the output if the program failed."""
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise ReleaseRefused(f"`{' '.join(words)}` ended with code {done.returncode}: {done.stdout.strip()[-1000:]}")
    return done.stdout


def output(*words: str) -> bytes:
    """Return the bytes of a program's standard output. Raises Refused with the end of its errors if it failed."""
    done = subprocess.run(words, capture_output=True, check=False)
    if done.returncode != 0:
        told = done.stderr.decode(errors="replace").strip()[-1000:]
        raise ReleaseRefused(f"`{' '.join(words)}` ended with code {done.returncode}: {told}")
    return done.stdout
