"""Waits for folders that sidecars lend: a Modelcar links its files into the pod while this container starts.

KServe marks such a pod with MODEL_INIT_MODE=async. This module waits for folders to appear, and checks nothing in them.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from specdec_runtime.refusal import Refusal, RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from specdec_runtime.flags import Flags

_MODE = "MODEL_INIT_MODE"
SECONDS = 120.0
"""How long a sidecar may take: its image is pulled before, by an init container."""
_PAUSE = 0.2


def wait(flags: Flags, environment: Mapping[str, str], seconds: float = SECONDS) -> None:
    """Return once every folder that the flags name exists, or when the time is over: preflight then reports a missing
    folder.

    Raises RefusedError for a folder that exists and may not be read.
    """
    if environment.get(_MODE) != "async":
        return
    deadline = time.monotonic() + seconds
    for path in _named(flags):
        while not _there(path) and time.monotonic() < deadline:
            time.sleep(_PAUSE)


def _named(flags: Flags) -> Iterator[Path]:
    for name in (flags.model, flags.draft):
        if name and name.startswith("/"):
            yield Path(name)


def _there(path: Path) -> bool:
    try:
        return path.is_dir()
    except PermissionError as error:
        where = path.readlink() if path.is_symlink() else path
        message = (
            f"{path} links to {where}, which this user has no permission to read: a Modelcar shares its files through "
            "/proc, and the kernel allows that only for the same user; set uidModelcar in KServe's "
            "inferenceservice-config, or set the image's user to the engine's user"
        )
        raise RefusedError(Refusal(reason="ModelcarClosed", field=str(path), message=message)) from error
