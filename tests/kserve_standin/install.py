"""Installs the CRDs: KServe's own from a folder if there is one, the project's minimal ones for the rest."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from tests.kserve_standin.api import Api, path_of

if TYPE_CHECKING:
    from tests.kserve_standin.model import Manifest

log = logging.getLogger("kserve-stand-in")
_OURS = Path(__file__).with_name("crds")
_PATIENCE_SECONDS = 30.0


def crds(folder: Path | None) -> list[Manifest]:
    """Return the CRDs to install: those of the folder, and ours for every kind that it does not have."""
    chosen = {crd["metadata"]["name"]: crd for crd in _read(_OURS)}
    if folder is not None:
        theirs = _read(folder)
        if not theirs:
            raise FileNotFoundError(f"{folder} holds no CustomResourceDefinition (*.yaml); name KServe's crd folder")
        chosen |= {crd["metadata"]["name"]: crd for crd in theirs}
    return list(chosen.values())


async def install(api: Api, folder: Path | None) -> None:
    """Apply the CRDs and wait until the API server serves every one of them."""
    wanted = crds(folder)
    for crd in wanted:
        await api.apply(crd)
    async with asyncio.timeout(_PATIENCE_SECONDS):
        for crd in wanted:
            while not _is_served(await api.get(path_of(crd))):
                await asyncio.sleep(0.1)
    log.info("CRDs installed: %s", ", ".join(sorted(crd["spec"]["names"]["kind"] for crd in wanted)))


def _read(folder: Path) -> list[Manifest]:
    documents = (item for path in sorted(folder.glob("*.yaml")) for item in yaml.safe_load_all(path.read_text()))
    return [item for item in documents if item and item.get("kind") == "CustomResourceDefinition"]


def _is_served(crd: Manifest) -> bool:
    conditions = (crd.get("status") or {}).get("conditions") or []
    return any(item["type"] == "Established" and item["status"] == "True" for item in conditions)
