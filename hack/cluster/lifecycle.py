"""`up` and `down`: which cluster this machine can have, and the order of work. Both may be repeated."""

import fcntl
import os
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from hack.cluster import binaries, kind, kserve, paths, record, shell, status, teardown, versions
from hack.cluster.errors import ClusterError
from hack.cluster.paths import ClusterLayout
from hack.cluster.record import ClusterDriver, Record
from hack.cluster.single import SingleNode, Steps
from hack.kserve import versions as kserve_versions
from hack.kserve.versions import KServeChoice

Say = Callable[[str], None]


def up(say: Say, *, driver: ClusterDriver | None = None, with_kserve: bool = True) -> None:
    """Bring the cluster up, or find that it is."""
    layout = paths.layout()
    wanted = kserve_versions.chosen() if with_kserve else None
    with _alone(layout, say):
        known = record.read(layout)
        if known and _usable(layout, known, say):
            _switch_kserve(layout, known, wanted, say)
            say("the cluster is up and healthy")
            return
        picked = driver or (known.driver if known else pick())
        _run(_steps(layout, picked, wanted, say), say)
        has = wanted.name if wanted else ""
        record.write(layout, Record(driver=picked, pins=binaries.fingerprint(), kserve=has))


def down(say: Say) -> None:
    """Remove the cluster and keep its images and logs; harmless where there is none."""
    layout = paths.layout()
    with _alone(layout, say):
        on_kind = kind.KindCluster(layout=layout, say=say)
        if on_kind.begun():
            on_kind.take_down()
        if teardown.leftovers(layout):
            require_root()
            teardown.take_down(layout)
    say(f"no cluster is up; images and logs stay in {layout.root}")


def pick() -> ClusterDriver:
    """Choose what this machine can run."""
    if shell.container_engine():
        return ClusterDriver.KIND
    require_root()
    return ClusterDriver.NODE


def require_root() -> None:
    """A node without a container engine needs Linux and root."""
    if platform.system() != "Linux" or os.geteuid() != 0:
        raise ClusterError(
            "a local cluster needs either a running Docker or podman engine (then kind is used), "
            "or Linux and root (then one node is run directly); "
            f"this is {platform.system()} as user {os.geteuid()}"
        )


def _usable(layout: ClusterLayout, known: Record, say: Say) -> bool:
    """Whether the running cluster is complete and the one that would be started. KServe is checked separately."""
    if known.pins != binaries.fingerprint():
        say("the running cluster is of other versions: starting anew")
        return False
    parts = [part for part in status.inspect(layout) if not part.name.startswith("KServe")]
    for part in parts:
        if not part.healthy:
            say(f"{part.name} is not healthy ({part.note}): starting anew")
    return status.healthy(parts)


def _switch_kserve(layout: ClusterLayout, known: Record, wanted: KServeChoice | None, say: Say) -> None:
    """Start the wanted KServe controller where another one runs, or none does."""
    if known.driver is ClusterDriver.KIND or wanted is None:
        return
    if known.kserve == wanted.name and status.healthy(status.inspect(layout)):
        return
    controller = kserve.OnNode(layout=layout, choice=wanted, say=say)
    _run({"KServe, built": controller.build, f"KServe {wanted.version}": controller.start}, say)
    record.write(layout, replace(known, kserve=wanted.name))


def _steps(layout: ClusterLayout, driver: ClusterDriver, wanted: KServeChoice | None, say: Say) -> Steps:
    if driver is ClusterDriver.KIND:
        return _kind_steps(layout, wanted, say)
    require_root()
    steps = SingleNode(layout=layout, say=say).steps()
    if wanted is None:
        return steps
    controller = kserve.OnNode(layout=layout, choice=wanted, say=say)
    return {"KServe, built": controller.build, **steps, f"KServe {wanted.version}": controller.start}


def _kind_steps(layout: ClusterLayout, wanted: KServeChoice | None, say: Say) -> Steps:
    if wanted and wanted != KServeChoice():
        raise ClusterError(
            f"on kind, the Helm charts install KServe {versions.KSERVE}: unset KSERVE and KSERVE_MANAGER"
        )
    cluster = kind.KindCluster(layout=layout, say=say)
    steps = {"programs": cluster.fetch_tools, "clean up": cluster.take_down, "kind": cluster.start}
    return steps if wanted is None else {**steps, f"KServe {versions.KSERVE}": cluster.install_kserve}


def _run(steps: Steps, say: Say) -> None:
    begun = time.monotonic()
    for name, act in steps.items():
        started = time.monotonic()
        act()
        say(f"{name:<20}{time.monotonic() - started:7.1f} s")
    say(f"{'together':<20}{time.monotonic() - begun:7.1f} s")


@contextmanager
def _alone(layout: ClusterLayout, say: Say) -> Iterator[None]:
    """Let one `up` or `down` work at a time; a lock goes with its process, also when that is killed."""
    layout.root.mkdir(parents=True, exist_ok=True)
    with (layout.root / ".lock").open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another `up` or `down` is at work: waiting for it")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
