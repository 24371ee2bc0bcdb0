"""python -m hack.helm manifests   writes manifests/ and the chart's copy of the CRD
python -m hack.helm verify      fails where one of them is stale
python -m hack.helm path        builds Helm where it is missing, and prints where it is
"""

import sys

from hack.cluster.errors import ClusterError
from hack.helm import manifests, program


def main(words: list[str]) -> int:
    """Run one command."""
    match words:
        case ["manifests"]:
            manifests.write()
        case ["verify"]:
            if stale := manifests.stale():
                print(f"stale: {', '.join(stale)}; run `python -m hack.helm manifests` and commit the result")
                return 1
        case ["path"]:
            print(program.ensure(lambda sentence: print(sentence, file=sys.stderr)))
        case _:
            print(__doc__)
            return 2
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except ClusterError as error:
        sys.exit(f"error: {error}")
