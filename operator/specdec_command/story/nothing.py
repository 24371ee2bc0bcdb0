"""Parts of a cluster that the story does not have: no downloads, no nodes, no objects of others."""

from collections.abc import Sequence
from typing import Any

from specdec_operator.errors import Unavailable

Body = dict[str, Any]


class NothingElse:
    """Answers as an API server where nothing else is. Raises Unavailable for a write that no chapter makes."""

    async def read(self, path: str, **_: str) -> Body | None:
        """Nothing lies there."""
        return None

    async def list_metadata(self, path: str, label_selector: str) -> list[Body] | None:
        """There is nothing of the kind."""
        return []

    async def log_end(self, namespace: str, pod: str) -> str:
        """No pod has a log."""
        return ""

    async def patch(self, manifest: Body, changes: Sequence[Body]) -> Body:
        """Nothing of others is there to be changed."""
        raise _not_recorded("patch", manifest)

    async def set_managers(self, manifest: Body, entries: Sequence[Body]) -> Body:
        """Nothing of others is there to be taken over."""
        raise _not_recorded("set_managers", manifest)

    async def remove(self, manifest: Body) -> None:
        """What is not there is gone already."""

    async def evict(self, namespace: str, pod: str) -> None:
        """No pod of the story is restarted."""
        raise Unavailable("NotRecorded", f"evict pod {pod}: no pod of the recording is restarted")

    async def post_event(self, namespace: str, event: Body) -> None:
        """Events are taken from the loop itself."""


def _not_recorded(verb: str, manifest: Body) -> Unavailable:
    return Unavailable("NotRecorded", f"{verb} {manifest['kind']}: the recording has no such write")
