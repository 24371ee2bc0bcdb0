"""python -m hack.verdicts agree --models KINDS.json [--json] [--all] FILE…

How often the rules foretell the verdicts in FILE…, by the format of tests/data/verdicts; a line for each file.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from hack.command import run
from hack.verdicts.agree import agreement

_ALL = 10**6


def _agree(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m hack.verdicts agree")
    parser.add_argument("--models", type=Path, required=True, help="kinds.json: the models' configs by name")
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


def main(words: list[str]) -> int:
    """Run one command."""
    if words[:1] != ["agree"]:
        print(__doc__)
        return 2
    return _agree(words[1:])


if __name__ == "__main__":
    run(main)
