"""python -m hack.rehearsal [--cpu]    a release on this machine: build, push, package, sign, verify, refuse

--cpu: with the real runtime image of target cpu (gigabytes), else with an image of one file in its place. nvidia is one
of those always: its image cannot be built here.
"""

import os
import pathlib
import sys
import time
import uuid
from collections.abc import Callable
from typing import Any

from hack.cluster import paths, shell
from hack.cluster.errors import ClusterError
from hack.command import run
from hack.helm import chart as helm
from hack.images import content, tool
from hack.packaging import plugin
from hack.rehearsal import parts, programs
from hack.rehearsal.keys import Key
from hack.rehearsal.registry import registry, start_something_else
from hack.release import chart, provenance, pushed
from hack.release.pushed import Pushed, Refused
from hack.release.ship import Release

_STARTED = time.monotonic()
_UNSIGNED = "no signatures found"


def say(sentence: str) -> None:
    """One line of the story, with the seconds since it began."""
    print(f"{time.monotonic() - _STARTED:6.1f} s  {sentence}", flush=True)


def refused(what: str, why: str, act: Callable[[], Any]) -> None:
    """Something that must not pass, with these words. Raises ClusterError where it does, or for another reason."""
    try:
        act()
    except Refused as error:
        if why not in str(error):
            raise ClusterError(f"{what}: it should have been refused with {why!r}, and was with: {error}") from error
        say(f"refused   {what}: {why}")
    else:
        raise ClusterError(f"{what} was accepted: what a user verifies does not protect")


def local_run() -> provenance.Run:
    """Who makes this release, in the place of a workflow."""
    commit = shell.run(["git", "-C", str(content.ROOT), "rev-parse", "HEAD"]).strip()
    return provenance.Run(
        builder="https://serving.specdec.io/rehearsal",
        invocation=f"urn:uuid:{uuid.uuid4()}",
        source="https://serving.specdec.io/local-checkout",
        ref="HEAD",
        commit=commit,
    )


def images(release: Release, place: str, *, cpu: bool) -> None:
    """Build, push and sign what the chart names."""
    builder = tool.choose()
    for target in ("operator", "cpu", "nvidia"):
        real = target == "operator" or (cpu and target == "cpu")
        image = parts.push(builder, target, place, release.images, real=real, say=say)
        say(f"pushed    {image.name}{'' if real else ' (an image of one file, in the place of the runtime)'}")
        release.sign(target, parts.arguments(builder) if real else {})


def ship(release: Release, folder: pathlib.Path) -> tuple[Pushed, pathlib.Path]:
    """Package and sign the chart, and the wheel."""
    made = release.ship_chart(folder / "chart")
    say(f"pushed    {made.name}")
    files = folder / "files"
    files.mkdir()
    wheel = plugin.wheel(files)
    for other in files.iterdir():
        if other != wheel:
            other.unlink()
    release.sign_files(files)
    return made, wheel


def verify(key: Key, release: Release, made: Pushed, wheel: pathlib.Path) -> None:
    """What a user verifies, by digest; and that the chart of the registry names the images that were verified."""
    every = pushed.read(release.images)
    for artifact in (*every.values(), made):
        path = artifact.registry.partition("/")[2]
        say(f"verified  {path}/{artifact.repository}:{artifact.tag}: {key.check(artifact, release.run)}")
    key.verify_file(wheel, wheel.with_name(f"{wheel.name}.sigstore.json"))
    say(f"verified  {wheel.name}: provenance")
    where = f"oci://{made.registry}/{made.repository}"
    rendered = shell.run([release.helm, "template", "x", where, f"--version={made.tag}", "--plain-http"])
    for image in every.values():
        if f"{image.tagged}@{image.digest}\n" not in rendered:
            raise ClusterError(f"the packaged chart does not name {image.name}")
    say(f"verified  the chart names {len(every)} images by the digests that were signed")


def refusals(key: Key, release: Release, made: Pushed, wheel: pathlib.Path, folder: pathlib.Path) -> None:
    """What must not pass: others in the place of our images, charts and files, another signer, an absent digest."""
    every = pushed.read(release.images)
    ours = every["operator"]
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


def main(words: list[str]) -> int:
    """Tell the story; 1 where a step fails."""
    if words not in ([], ["--cpu"]):
        print(__doc__, file=sys.stderr)
        return 2
    os.environ["COSIGN_PASSWORD"] = ""  # of the key that is thrown away
    found = programs(say)
    with paths.scratch() as scratch, registry(found["registry"], pathlib.Path(scratch)) as host:
        folder = pathlib.Path(scratch)
        key = Key(program=str(found["cosign"]), folder=folder, name="rehearsal").make()
        release = Release(
            run=local_run(), images=folder / "images", cosign=key.cosign(), helm=str(helm.helm(say)), http=True
        )
        try:
            images(release, f"{host}/team", cpu=bool(words))
            made, wheel = ship(release, folder)
            verify(key, release, made, wheel)
            refusals(key, release, made, wheel, folder)
        except Refused as error:
            raise ClusterError(str(error)) from error
    return 0


if __name__ == "__main__":
    run(main)
