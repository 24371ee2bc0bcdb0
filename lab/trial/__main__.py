"""python -m lab.trial nvidia|ascend   builds that image, asks it what can be asked without a device

The answers go to docs/images, and the image is removed (gigabytes; KEEP=yes keeps it).
"""

from hack.command import run
from hack.images import content
from hack.images.__main__ import say

from lab.trial import report


def main(words: list[str]) -> int:
    """Build and ask one image."""
    match words:
        case [("nvidia" | "ascend") as kind]:
            path = report.trial(kind, say)
            say(f"written: {path.relative_to(content.ROOT)}; `make generate` takes it into docs/images.md")
            return 0
        case _:
            print(__doc__)
            return 2


if __name__ == "__main__":
    run(main)
