"""What must not pass: others in the place of our images, charts and files, another signer, an absent digest."""

import pathlib
from collections.abc import Callable
from typing import Any

from hack.cluster.errors import ClusterError
from hack.dry_run.keys import Key
from hack.dry_run.registry import start_something_else
from hack.release import chart, pushed
from hack.release.pushed import Pushed, Refused
from hack.release.ship import Release

_UNSIGNED = "no signatures found"


def check(
    key: Key,
    release: Release,
    made: Pushed,
    wheel: pathlib.Path,
    folder: pathlib.Path,
    say: Callable[[str], None],
) -> None:
    """Try each, and change what was pushed for it. Raises ClusterError where one is accepted."""
    every = pushed.read(release.images, release.without)
    ours = every["operator"]

    def refused(what: str, why: str, act: Callable[[], Any]) -> None:
        _refused(what, why, act)
        say(f"refused   {what}: {why}")

    stranger = Key(program=key.program, folder=folder, name="stranger").make()
    refused("our image, by another's key", "accepted signatures do not match", lambda: stranger.verify(ours.name))
    changed = start_something_else(ours)
    refused("an image with another entry point under the same tag", _UNSIGNED, lambda: key.verify(changed.tagged))
    other = chart.package(every | {"operator": changed}, folder, helm=release.helm)
    chart.push(other, made.registry.removesuffix("/charts"), "--plain-http", helm=release.helm)
    refused("a chart with that image under the same version", _UNSIGNED, lambda: key.verify(made.tagged))
    key.verify(ours.name)
    key.verify(made.name)
    say("verified  by digest, image and chart are still the signed ones")
    bundle = wheel.with_name(f"{wheel.name}.sigstore.json")
    with wheel.open("ab") as file:
        file.write(b"x")
    refused("a wheel with one more byte", "artifact digests do not match", lambda: key.verify_file(wheel, bundle))
    (release.images / "cpu.txt").unlink()
    missing = "no cpu.txt: the chart names these images; push them first"
    refused("a chart without an image's digest", missing, lambda: release.ship_chart(folder / "incomplete"))


def _refused(what: str, why: str, act: Callable[[], Any]) -> None:
    try:
        act()
    except Refused as error:
        if why not in str(error):
            raise ClusterError(f"{what}: it should have been refused with {why!r}, and was with: {error}") from error
    else:
        raise ClusterError(f"{what} was accepted: what a user verifies does not protect")
