"""python -m lab.tables PYTHON            ask the engine of that interpreter, and write its column into engine/data
python -m lab.tables --facts FACTS.json   the same from a file that lab/tables/facts.py wrote

Prints what is new or gone since the release before, and what no generator can write: keys and methods of the
speculative configuration, which want a sentence each.
"""

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Final

from hack.command import run

from lab.tables.columns import ABOUT, batch_rows, with_column
from lab.tables.difference import differences
from specdec_engine import tables

DATA: Final = Path(tables.__file__).parent / "data"
_ASKS: Final = Path(__file__).parent / "facts.py"


def facts_of(python: str) -> dict[str, Any]:
    """The facts of an interpreter's engine. Raises CalledProcessError if it cannot be asked at all."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "facts.json"
        subprocess.run([python, str(_ASKS), str(out)], check=True)
        told: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
        return told


def written(facts: dict[str, Any]) -> list[str]:
    """Write the release's columns; returns a line for each difference."""
    said = differences(facts)
    for name in ABOUT:
        path = DATA / f"{name}.json"
        table = with_column(json.loads(path.read_text(encoding="utf-8")), name, facts)
        path.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    path = DATA / "batches.json"
    table = batch_rows(json.loads(path.read_text(encoding="utf-8")), facts)
    path.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    return said


def main(words: list[str]) -> int:
    """Run the command."""
    if len(words) == 2 and words[0] == "--facts":
        facts = json.loads(Path(words[1]).read_text(encoding="utf-8"))
    elif len(words) == 1 and not words[0].startswith("-"):
        facts = facts_of(words[0])
    else:
        print(__doc__)
        return 2
    print("\n".join(written(facts)))
    return 0


if __name__ == "__main__":
    run(main)
