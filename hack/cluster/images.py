"""Puts images onto the cluster, from an archive or from the store of the tool that built them."""

import pathlib
import tempfile

from hack.cluster import containers, engine, kind, paths, record, shell
from hack.cluster.errors import ClusterError
from hack.cluster.record import Driver

_LOAD_SECONDS = 900


def load(archive_or_ref: str | pathlib.Path) -> None:
    """Put an image onto the node: a docker or OCI archive, or a name known to buildah, podman or docker."""
    driver = _driver()
    archive = pathlib.Path(archive_or_ref)
    if driver is Driver.KIND:
        _load_on_kind(archive_or_ref)
    elif archive.is_file():
        containers.load(paths.layout(), archive)
    else:
        ref = str(archive_or_ref)
        containers.load_from(paths.layout(), engine.export(engine.holder(ref), ref))


def has(ref: str) -> bool:
    """Tell whether the node has an image of this name."""
    if _driver() is Driver.KIND:
        return shell.ask(kind.on_node("crictl", "inspecti", ref)).code == 0
    return ref in containers.image_names(paths.layout())


def rename(ref: str, name: str) -> None:
    """Give an image of the single node another name too. On kind the charts bring what they need by themselves."""
    if _driver() is Driver.NODE:
        shell.run(containers.client(paths.layout(), "images", "tag", "--force", ref, name))


def _driver() -> Driver:
    known = record.read(paths.layout())
    if known is None:
        raise ClusterError("images are loaded onto a running cluster, and none is up: run `python -m hack.cluster up`")
    return known.driver


def _load_on_kind(archive_or_ref: str | pathlib.Path) -> None:
    """kind reads archives only, and copies them to every node itself."""
    given = pathlib.Path(archive_or_ref)
    if given.is_file():
        shell.run(kind.load_archive(given), timeout=_LOAD_SECONDS, env=kind.environment())
        return
    ref = str(archive_or_ref)
    with tempfile.TemporaryDirectory(dir=_scratch()) as folder:
        archive = pathlib.Path(folder) / "image.tar"
        written = ["dd", f"of={archive}", "bs=1M", "status=none"]
        shell.pipe(engine.export(engine.holder(ref), ref), written, timeout=_LOAD_SECONDS)
        shell.run(kind.load_archive(archive), timeout=_LOAD_SECONDS, env=kind.environment())


def _scratch() -> pathlib.Path:
    """An engine image has gigabytes, more than many a /tmp."""
    folder = paths.cache() / "images"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
