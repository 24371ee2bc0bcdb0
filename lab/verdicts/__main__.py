"""python -m lab.verdicts agree --models KINDS.json [--json] [--all] FILE…
        how often the rules foretell the verdicts in FILE…; a line for each file.
    python -m lab.verdicts ask PYTHON PLATFORM IN.jsonl OUT.jsonl [--models KINDS.json]
        verdicts of the engine in PYTHON's environment on the cases of IN.jsonl; continues an interrupted run.
    python -m lab.verdicts contact PYTHON PLATFORM OUT.jsonl [--seed N] [--count N]
        the same on cases that are drawn at random, and then how often the rules foretold them.
    python -m lab.verdicts samples PYTHON PLATFORM OUT.jsonl
        the same on the samples of the accelerator.

PLATFORM: cpu, cuda or npu; devices are pretended. The files' format: tests/data/verdicts/README.md.
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Final

from hack.command import run

from lab.verdicts import samples
from lab.verdicts.agree import agreement
from lab.verdicts.draw import drawn

_ALL: Final = 10**6
_ASKS: Final = Path(__file__).parent / "ask.py"
_DATA: Final = Path(__file__).parents[2] / "tests" / "data" / "verdicts"
KINDS: Final = _DATA / "kinds.json"
ACCELERATORS: Final = {"cpu": "cpu", "cuda": "nvidia", "npu": "ascend"}


def _agree(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m lab.verdicts agree")
    parser.add_argument("--models", type=Path, default=KINDS, help="kinds.json: the models' configs by name")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--all", action="store_true", help="show every difference, not the first ones")
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
    asked = parser.parse_args(words)
    kinds = json.loads(asked.models.read_text(encoding="utf-8"))
    for path in asked.files:
        found = agreement(path, kinds, **({"shown": _ALL} if asked.all else {}))
        print(json.dumps(found) if asked.json else _line(found), flush=True)
    return 0


def _line(found: dict[str, Any]) -> str:
    head = f"{found['file']}: {found['agree']} of {found['cases']} ({found['share']:.2%})"
    tail = f"{found['false_refusals']} false refusals, {found['accepted']} accepted, {found['stricter']} stricter"
    shown = (f"\n  {each['id']}: {each['engine']}; rules: {each['rules']}" for each in found["first_differences"])
    return f"{head}, {tail}" + "".join(shown)


def ask(python: str, platform: str, file: Path, out: Path, models: Path) -> None:
    """Ask the engine of an interpreter. Raises CalledProcessError where it cannot be asked at all."""
    words = ["--platform", platform, "--models", str(models), "--out", str(out), str(file)]
    subprocess.run([python, str(_ASKS), *words], check=True)


def _engine(name: str, words: list[str], *, file: bool) -> argparse.Namespace:
    """The words of a command that asks an engine."""
    parser = argparse.ArgumentParser(prog=f"python -m lab.verdicts {name}")
    parser.add_argument("python", help="the interpreter of the environment that the engine is in")
    parser.add_argument("platform", choices=sorted(ACCELERATORS))
    if file:
        parser.add_argument("file", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--models", type=Path, default=KINDS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=500)
    return parser.parse_args(words)


def _ask(words: list[str]) -> int:
    asked = _engine("ask", words, file=True)
    ask(asked.python, asked.platform, asked.file, asked.out, asked.models)
    return 0


def _contact(words: list[str]) -> int:
    asked = _engine("contact", words, file=False)
    with tempfile.TemporaryDirectory() as folder:
        cases = Path(folder) / "cases.jsonl"
        lines = (json.dumps(each) for each in drawn(asked.seed, asked.count, asked.platform))
        cases.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        ask(asked.python, asked.platform, cases, asked.out, asked.models)
    return _agree(["--models", str(asked.models), str(asked.out)])


def _samples(words: list[str]) -> int:
    asked = _engine("samples", words, file=False)
    with tempfile.TemporaryDirectory() as folder:
        cases = Path(folder) / "cases.jsonl"
        samples.written(ACCELERATORS[asked.platform], cases)
        ask(asked.python, asked.platform, cases, asked.out, samples.KINDS)
    return 0


COMMANDS: Final = {"agree": _agree, "ask": _ask, "contact": _contact, "samples": _samples}


def main(words: list[str]) -> int:
    """Run one command."""
    if not words or words[0] not in COMMANDS:
        print(__doc__)
        return 2
    return COMMANDS[words[0]](words[1:])


if __name__ == "__main__":
    run(main)
