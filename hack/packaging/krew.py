"""krew's manifest of the plugin: where the archive of each platform lies, its digest, and what to run in it."""

import pathlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import yaml

from hack.packaging.archive import PLUGIN
from hack.packaging.platforms import Platform

TEMPLATE = pathlib.Path(__file__).parents[2] / "packaging" / "krew" / "specdec.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """One archive. sha256: of its bytes, in hexadecimal."""

    platform: Platform
    uri: str
    sha256: str


def manifest(version: str, packed: Iterable[Packed]) -> str:
    """The manifest as YAML: the template with the version and the platforms."""
    made: dict[str, Any] = yaml.safe_load(TEMPLATE.read_text(encoding="utf-8"))
    made["spec"] |= {"version": f"v{version}", "platforms": [_entry(each) for each in packed]}
    return yaml.safe_dump(made, sort_keys=False, width=110)


def _entry(packed: Packed) -> dict[str, Any]:
    return {
        "selector": {"matchLabels": {"os": packed.platform.os, "arch": packed.platform.arch}},
        "uri": packed.uri,
        "sha256": packed.sha256,
        "bin": PLUGIN,
    }
