"""Releases as they were: their code and what was installed with it, kept in tests/data/released."""

import os
import pathlib
import tarfile
from dataclasses import dataclass
from typing import Final

DATA: Final = pathlib.Path(__file__).parent / "data" / "released"
FIRST: Final = "2e5ec2f"
"""The release whose statuses and pods the others have to take over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A release, unpacked into a folder."""

    folder: pathlib.Path

    @property
    def python_path(self) -> str:
        """PYTHONPATH for its code."""
        return os.pathsep.join(str(self.folder / part) for part in ("operator", "runtime"))

    @property
    def crd(self) -> pathlib.Path:
        """Its CRD."""
        return self.folder / "crds" / "serving.specdec.io_speculativeinferenceservices.yaml"

    @property
    def rbac(self) -> list[pathlib.Path]:
        """What its operator may do, downloads included: the first release granted these without being asked."""
        files = (
            self.folder / "manifests" / part / "rbac.yaml" for part in ("operator", "downloads", "control", "dial")
        )
        return [file for file in files if file.exists()]


def unpack(folder: pathlib.Path, name: str = FIRST) -> Release:
    """A release in a folder that is empty."""
    with tarfile.open(DATA / f"{name}.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return Release(folder=folder)


def current() -> Release:
    """The code of this checkout, which is laid out in the same way."""
    return Release(folder=pathlib.Path(__file__).parents[1])
