"""python -m hack.helm manifests   writes manifests/ and the chart's copy of the CRD
python -m hack.helm verify      fails where one of them is stale
python -m hack.helm path        builds Helm where it is missing, and prints where it is
"""

import sys

from hack.command import generate, run
from hack.helm import chart, manifests


def main(words: list[str]) -> int:
    """Run one command."""
    match words:
        case ["manifests"] | ["verify"]:
            return generate(manifests.written(), words)
        case ["path"]:
            print(chart.helm(lambda sentence: print(sentence, file=sys.stderr)))
            return 0
    print(__doc__)
    return 2


if __name__ == "__main__":
    run(main)
