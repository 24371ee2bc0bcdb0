"""`python -m lab.scale.peers --services 1000 --out peers.json`: the peers alone, one after the other."""

import argparse
import json
import pathlib
from dataclasses import asdict

from lab.scale.peers.run import measured


def main() -> None:
    """Measures the peers with the requested number of services and writes the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--services", type=int, default=1000)
    parser.add_argument("--out", type=pathlib.Path)
    found = parser.parse_args()
    rows = measured(found.services)
    if found.out:
        found.out.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")


if __name__ == "__main__":
    main()
