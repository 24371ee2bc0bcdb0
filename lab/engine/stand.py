"""The tiny pair, served until a file appears: for commands that look at a running server from outside.

    python -m lab.engine.stand MODELS FOLDER

Runs where vLLM is. FOLDER/port has the port once it serves; it ends when FOLDER/stop is there. Clients ask code.
"""

import json
import sys
from itertools import cycle
from pathlib import Path

from lab.engine import server


def main(models: Path, folder: Path) -> None:
    """Serve, and ask one prompt after the other."""
    prompts = cycle(json.loads((models / "prompts.json").read_text(encoding="utf-8"))["code"])
    with server.started(server.flags(models / "target", server.drafting(models))) as engine:
        engine.must_come_up()
        (folder / "port").write_text(str(engine.port), encoding="ascii")
        while not (folder / "stop").exists():
            engine.complete(next(prompts), 64)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
