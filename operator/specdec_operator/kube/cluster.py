"""What the loop needs of a cluster."""

from collections.abc import Sequence
from typing import Protocol

from specdec_operator.kube.request import Manifest


class Cluster(Protocol):
    """Reads and writes of objects. Raises Invalid for what the API server refuses, Unavailable for other trouble."""

    async def apply(self, manifest: Manifest, *, force: bool = True) -> Manifest:
        """Makes an object be as in the manifest; returns it as it is now.

        Where the manifest has metadata.uid or metadata.resourceVersion, that very object or version alone is written:
        Unavailable is raised where another one is there. force: also over fields of others.
        """

    async def find(self, manifest: Manifest) -> Manifest | None:
        """The object of a manifest's kind and name as it is; None: there is none. Of one that is too large to be of a
        service, the metadata.
        """

    async def patch(self, manifest: Manifest, changes: Sequence[Manifest], *, dry_run: bool = False) -> Manifest:
        """Changes another owner's object by a JSON patch; returns it as it is now. Raises Invalid if a test in it does
        not hold any more.

        dry_run: nothing is stored; what is returned is what admission would make of it.
        """

    async def annotate(self, manifest: Manifest, name: str, text: str | None) -> None:
        """Sets an annotation of an object, or removes it (None). Does nothing if it is gone, or has another uid."""

    async def set_managers(self, manifest: Manifest, entries: Sequence[Manifest]) -> Manifest:
        """Writes who owns which fields of the object, at the version that the manifest has; returns it as it is now."""

    async def remove(self, manifest: Manifest) -> None:
        """Deletes an object with what it owns; an absent one is not an error.

        Where the manifest has metadata.uid, only that very object is deleted.
        """

    async def evict(self, namespace: str, pod: str) -> None:
        """Requests the end of a pod; an absent one is not an error. Raises Unavailable NotEvicted: not now."""

    async def read(self, path: str, *, most: int | None = None, **selectors: str) -> Manifest | None:
        """What lies at a path of the API. None: it is not there, or this operator may not read it.

        most: bytes that the answer may have; TooLarge is raised for more. selectors: field_selector and label_selector,
        for a list; limit and continue, for a page of it.
        """

    async def log_end(self, namespace: str, pod: str) -> str:
        """The last lines of a pod's log; empty where there is none."""

    async def apply_status(self, namespace: str, name: str, status: Manifest) -> int:
        """Makes the status of a service be this. Returns the version that has it; 0: the service is gone."""

    async def list_metadata(self, path: str, label_selector: str) -> list[Manifest] | None:
        """The metadata of all objects at a path, none where they are not served. None: we may not read them.

        Of annotations there are the names of ours alone, and of those who own fields the guard alone.
        """

    async def post_event(self, namespace: str, event: Manifest) -> None:
        """Makes an Event."""
