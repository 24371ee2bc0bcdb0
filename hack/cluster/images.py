"""Puts images onto the cluster, from an archive or from the store of the tool that built them."""

import pathlib
import tempfile

from hack.cluster import containers, engine, kind, paths, record, shell
from hack.cluster.errors import ClusterError
from hack.cluster.record import Driver

_EXPORT_SECONDS = 900


def load(archive_or_ref: str | pathlib.Path) -> None:
    """Put an image onto the node: a docker or OCI archive, or a name known to buildah, podman or docker."""
    driver = _driver()
    archive = pathlib.Path(archive_or_ref)
    if archive.is_file():
        _load_archive(driver, archive)
        return
    with tempfile.TemporaryDirectory(dir=_scratch()) as folder:
        exported = pathlib.Path(folder) / "image.tar"
        shell.run(engine.export(str(archive_or_ref), exported), timeout=_EXPORT_SECONDS)
        _load_archive(driver, exported)


def has(ref: str) -> bool:
    """Tell whether the node has an image of this name."""
    if _driver() is Driver.KIND:
        return shell.ask(kind.on_node("crictl", "inspecti", ref)).code == 0
    return ref in containers.image_names(paths.layout())


def _driver() -> Driver:
    known = record.read(paths.layout())
    if known is None:
        raise ClusterError("images are loaded onto a running cluster, and none is up: run `python -m hack.cluster up`")
    return known.driver


def _load_archive(driver: Driver, archive: pathlib.Path) -> None:
    if driver is Driver.KIND:
        shell.run(kind.load_archive(archive), timeout=_EXPORT_SECONDS, env=kind.environment())
    else:
        containers.load(paths.layout(), archive)


def _scratch() -> pathlib.Path:
    """An engine image has gigabytes, more than many a /tmp."""
    folder = paths.layout().root / "export"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
