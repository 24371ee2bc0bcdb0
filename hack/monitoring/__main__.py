"""Writes the rules, the dashboards and the table of alerts.

`python -m hack.monitoring` writes; `... verify` says which file is stale; `... rules [--object] [--runbooks URL]`
prints the rules, with the runbooks at another place.
"""

import argparse
import pathlib
import sys
from collections.abc import Callable

import yaml

from hack.monitoring.files import PAGE, generated
from hack.monitoring.rules import RUNBOOKS, Object, groups, prometheus_rule

_ROOT = pathlib.Path(__file__).parents[2]


def main(argv: list[str]) -> int:
    """The command; 1 where a file is stale."""
    parser = argparse.ArgumentParser(prog="python -m hack.monitoring", description=__doc__)
    parser.add_argument("verb", nargs="?", default="write", choices=("write", "verify", "rules"))
    parser.add_argument("--object", action="store_true", help="as a PrometheusRule")
    parser.add_argument("--runbooks", default=RUNBOOKS, help="the URL of an alert's page, with {alert} for its name")
    asked = parser.parse_args(argv)
    if asked.verb == "rules":
        return _print(prometheus_rule if asked.object else groups, asked.runbooks)
    files = generated((_ROOT / PAGE).read_text())
    return _verify(files) if asked.verb == "verify" else _write(files)


def _print(made: Callable[[str], Object], runbooks: str) -> int:
    try:
        print(yaml.safe_dump(made(runbooks), sort_keys=False), end="")
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _write(files: dict[str, str]) -> int:
    for path, text in files.items():
        (_ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (_ROOT / path).write_text(text)
    return 0


def _verify(files: dict[str, str]) -> int:
    stale = [path for path, text in files.items() if not _holds(_ROOT / path, text)]
    for path in stale:
        print(f"{path} is stale: run 'make generate' and commit the result.")
    return 1 if stale else 0


def _holds(path: pathlib.Path, text: str) -> bool:
    return path.is_file() and path.read_text() == text


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
