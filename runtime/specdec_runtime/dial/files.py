"""The files of the dial: the folder that Kubernetes mounts, and the engine's note for the server's page."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from specdec_runtime import notes
from specdec_runtime.dial.setting import MOST_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER: Final = "SPECDEC_DIAL_FOLDER"
_MOUNTED: Final = "/etc/specdec/dial"
_SETTING: Final = "setting"
_REVISION: Final = "revision"
Stamp = tuple[int, int, int]


class NotMountedError(Exception):
    """The folder lacks something; the message is what."""


def folder() -> Path:
    """Return where the pod's own annotation and revision are mounted."""
    return Path(os.environ.get(FOLDER, _MOUNTED))


def mounted() -> bool:
    """Whether this pod is to have a dial at all."""
    return folder().is_dir()


def revision() -> str:
    """Return the revision of this pod. Raises NotMountedError if it is not known: no setting could be checked then."""
    path = folder() / _REVISION
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise NotMountedError(f"{path} cannot be read ({error}): mount the pod's revision there") from error
    if not text:
        raise NotMountedError(f"{path} is empty: the pod has no revision")
    return text


def stamp() -> Stamp | None:
    """Return what changes with the setting's file; None without one. Kubernetes replaces the file as a whole."""
    try:
        found = os.stat(folder() / _SETTING)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size


def setting() -> bytes:
    """Return the setting, of a longer file one byte too much; nothing without a file. Raises OSError."""
    try:
        with (folder() / _SETTING).open("rb") as file:
            return file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        return b""


def leave(answer: Mapping[str, object]) -> None:
    """Write what is in force. A folder that cannot be written costs the page, not the dial."""
    try:
        notes.leave(notes.DIAL, json.dumps(answer) + "\n")
    except OSError as error:
        where = notes.path(notes.DIAL)
        print(f"specdec: {where} cannot be written, so /specdec/dial does not show the dial: {error}", flush=True)


def page() -> bytes:
    """Return what GET /specdec/dial answers."""
    try:
        return notes.path(notes.DIAL).read_bytes()
    except OSError:
        why = "the engine has not reported one" if mounted() else f"{folder()} is not mounted"
        return json.dumps({"offered": False, "why": f"no dial: {why}"}).encode()
