"""python -m hack.models   trains the tiny pair where it is missing, and prints its folder"""

from hack.command import run
from hack.models import store


def main(words: list[str]) -> int:
    """Train where that is needed; there is nothing to choose."""
    if words:
        print(__doc__)
        return 2
    print(store.ensure())
    return 0


if __name__ == "__main__":
    run(main)
