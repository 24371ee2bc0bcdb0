"""The artifact of a model that a command line names by a folder of its container, or by its name on a hub."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

DOWNLOADED: Final = "/mnt/models"
"""The folder of KServe for the artifact in storageUri, and for each of storageUris without a mountPath."""
_HUB: Final = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_URI: Final = re.compile(r"[a-z][a-z0-9+]*://.+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """A folder of the container and the artifact there. volume: the pod's volume that brings it, where one does."""

    mount: str
    uri: str
    volume: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundArtifact:
    """An artifact, and the folder in it; empty: all of it. hub: whether it was found by its name on a hub."""

    uri: str
    path: str = ""
    hub: bool = False
    folder: Folder | None = None

    @property
    def said(self) -> dict[str, Any]:
        """As in the spec."""
        return {"uri": self.uri, **({"path": self.path} if self.path else {})}


def find(text: str, folders: Iterable[Folder], revision: str | None = None) -> FoundArtifact | None:
    """What a model's name means; None if it is not in a folder and not a hub's. revision: of a hub's model."""
    if _URI.fullmatch(text):
        return FoundArtifact(uri=text.rstrip("/"))
    if text.startswith("/"):
        path = _clean(text)
        holding = [each for each in folders if f"{path}/".startswith(f"{_clean(each.mount)}/")]
        if not holding:
            return None
        nearest = max(holding, key=lambda each: len(_clean(each.mount)))
        inside = path[len(_clean(nearest.mount)) :].strip("/")
        return FoundArtifact(uri=nearest.uri.rstrip("/"), path=inside, folder=nearest)
    if _HUB.fullmatch(text):
        return FoundArtifact(uri=f"hf://{text}" + (f":{revision}" if revision else ""), hub=True)
    return None


def is_inside(text: str, folder: Folder) -> bool:
    """Whether a value of a flag or a variable names something in a folder."""
    return f"{_clean(folder.mount)}/" in f"{text}/"


def _clean(path: str) -> str:
    return re.sub("/+", "/", path).rstrip("/")
