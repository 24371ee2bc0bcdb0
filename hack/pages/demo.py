"""The run of `make demo` that README.md and docs/demo.md show, made of docs/demo/demo.json."""

import io
import json
import pathlib
from typing import Final

from rich.console import Console

from hack.demo import report
from hack.machine import sentence
from hack.pages import filled

_RUN: Final = pathlib.Path(__file__).parents[2] / "docs" / "demo" / "demo.json"
_WIDTH: Final = 110


def readme(text: str, run: pathlib.Path = _RUN) -> str:
    """README.md with its picture, and the sentences about it."""
    return filled(text, "README.md", {"demo": _read(run)})


def page(text: str, run: pathlib.Path = _RUN) -> str:
    """docs/demo.md with the tables that the run printed."""
    console = Console(width=_WIDTH, record=True, file=io.StringIO())
    console.print(report.render(_read(run)))
    table = "\n".join(line.rstrip() for line in console.export_text().splitlines())
    return filled(text, "demo.md", {"run": {"table": table, "made": sentence(_read(run))}})


def _read(run: pathlib.Path) -> report.Report:
    found: report.Report = json.loads(run.read_text(encoding="utf-8"))
    return found
