"""`python -m hack.prose` checks the files of hack/prose/pages.txt, and the docstrings, comments and names of tests of
the files of hack/prose/code.txt. With names of files it checks these instead: a Python file that is not in pages.txt
only for its docstrings, comments and names of tests.
"""

import pathlib
import sys
from functools import cache
from typing import Final

import yaml

from hack.prose.check import ProseFinding, Rules, in_data, in_messages, in_notes, on_page, rules_of

_HERE: Final = pathlib.Path(__file__).parent
_ROOT: Final = _HERE.parents[1]


@cache
def rules() -> Rules:
    """The rules of hack/prose/rules.yaml."""
    return rules_of(yaml.safe_load((_HERE / "rules.yaml").read_text(encoding="utf-8")))


def held(named_in: str = "pages.txt") -> list[str]:
    """The files that a list of this folder holds to the rules, by their paths from the root."""
    lines = (_HERE / named_in).read_text(encoding="utf-8").splitlines()
    named = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    return [path for each in named for path in (_below(each) if "*" in each else [each])]


def _below(pattern: str) -> list[str]:
    return sorted(path.relative_to(_ROOT).as_posix() for path in _ROOT.glob(pattern))


def check(path: str) -> list[ProseFinding]:
    """What a file of the repository breaks: a Markdown page, or the messages of a Python or JSON file."""
    text = (_ROOT / path).read_text(encoding="utf-8")
    return _CHECKS.get(pathlib.PurePath(path).suffix, on_page)(text, rules())


def check_notes(path: str) -> list[ProseFinding]:
    """What the docstrings, comments and names of tests of a Python file break."""
    return in_notes((_ROOT / path).read_text(encoding="utf-8"), rules())


_CHECKS: Final = {".py": in_messages, ".json": in_data}


def main(paths: list[str]) -> int:
    """Print each finding with its file and line. The exit code is 1 if there is one."""
    pages = held()
    if paths:
        known = set(pages)
        pages = [path for path in paths if path in known or not path.endswith(".py")]
    read = [(path, check(path)) for path in pages]
    read += [(path, check_notes(path)) for path in paths or held("code.txt") if path.endswith(".py")]
    found = [f"{path}:{each}" for path, broken in read for each in broken]
    for line in found:
        print(line, file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
