"""The pages that people read: README and the other files of the root, and docs/."""

import pathlib
from typing import Final

ROOT: Final = pathlib.Path(__file__).parents[3]
FRONT: Final = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
PAGES: Final = tuple(
    path.relative_to(ROOT).as_posix() for path in (*map(ROOT.joinpath, FRONT), *sorted((ROOT / "docs").rglob("*.md")))
)


def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")
