"""python -m hack.dry_run [--no-node]    a release on this machine: built, signed, verified, installed

--no-node: without the installation on the local cluster, and with an image of one file in the place of the runtime's.
What cannot be built here has such an image in its place always: nvidia's, and those of the other processor.
"""

import os
import pathlib
import sys
import time
import uuid

from hack.cluster import paths, shell
from hack.cluster.errors import ClusterError
from hack.command import run
from hack.docs import versions
from hack.dry_run import node, parts, programs
from hack.dry_run.keys import Key
from hack.dry_run.refusals import Refusals
from hack.dry_run.registry import join, registry
from hack.helm import chart as helm
from hack.images import content, tool
from hack.packaging import files
from hack.release import plan, provenance, pushed
from hack.release.pushed import Pushed, ReleaseRefused
from hack.release.ship import Release

_STARTED = time.monotonic()
_BASE = "https://serving.specdec.io/releases"


def say(sentence: str) -> None:
    """One line of the story, with the seconds since it began."""
    print(f"{time.monotonic() - _STARTED:6.1f} s  {sentence}", flush=True)


def local_run() -> provenance.ReleaseRun:
    """Who makes this release, in the place of a workflow."""
    commit = shell.run(["git", "-C", str(content.ROOT), "rev-parse", "HEAD"]).strip()
    return provenance.ReleaseRun(
        builder="https://serving.specdec.io/dry-run",
        invocation=f"urn:uuid:{uuid.uuid4()}",
        source="https://serving.specdec.io/local-checkout",
        ref="HEAD",
        commit=commit,
    )


def page(release: Release, folder: pathlib.Path) -> list[pathlib.Path]:
    """Build and sign the files of the release's page, and put its documentation beside that of main."""
    built = files.build(folder / "files", _BASE, say)
    release.sign_files(folder / "files")
    size = sum(each.stat().st_size for each in built) / 1e6
    say(f"signed    {len(built)} files of the release's page, {size:.0f} MB")
    site, out = folder / "site", folder / "pages"
    shell.run(["tar", "--extract", f"--file={folder / 'files' / files.PAGES}", f"--one-top-level={site}"])
    found = versions.assemble(site, folder / "files", out)
    say(f"built     a site with the pages of {' and '.join(found)}")
    return built


def images(release: Release, place: str, planned: plan.ReleasePlan, *, real: bool) -> None:
    """Build, push and sign what the chart names: an image for each processor, and one name for them."""
    builder, here = tool.choose(), parts.here()
    for target in ("operator", "cpu", "nvidia"):
        for arch in planned.architectures(target):
            built = arch == here and (target == "operator" or (real and target == "cpu"))
            image = parts.push(builder, target, arch, place, release.images, say if built else None)
            say(f"pushed    {image.tagged}{'' if built else ' (an image of one file, in the place of the real one)'}")
            release.sign(target, arch, parts.arguments(builder) if built else {})
        say(f"pushed    {release.ship_index(target, planned.architectures(target)).name}")


def verify(key: Key, release: Release, made: Pushed, built: list[pathlib.Path]) -> None:
    """What a user verifies, by digest; and that the chart of the registry names the images that were verified."""
    every = [pushed.read_one(release.images, each.stem) for each in sorted(release.images.glob("*.txt"))]
    for artifact in (*every, made):
        path = artifact.registry.partition("/")[2]
        say(f"verified  {path}/{artifact.repository}:{artifact.tag}: {key.check(artifact, release.run)}")
    for file in built:
        key.verify_file(file, file.with_name(f"{file.name}.sigstore.json"))
    say(f"verified  {len(built)} files: provenance")
    where = f"oci://{made.registry}/{made.repository}"
    rendered = shell.run([release.helm, "template", "x", where, f"--version={made.tag}", "--plain-http"])
    named = pushed.read(release.images, release.without)
    for image in named.values():
        if f"{image.tagged}@{image.digest}\n" not in rendered:
            raise ClusterError(f"the packaged chart does not name {image.name}")
    say(f"verified  the chart names {len(named)} images by the digests that were signed")


def install(release: Release, made: Pushed, samples: pathlib.Path, folder: pathlib.Path) -> None:
    """Install from the registry, run a sample, and remove both."""
    folder.mkdir()
    stranger = node.Stranger(folder=folder, helm=release.helm, say=say)
    named = pushed.read(release.images, release.without)
    try:
        stranger.installs(made, named)
        stranger.runs(samples, named)
    finally:
        stranger.leaves(made.registry.partition("/")[0])


def tell(folder: pathlib.Path, host: str, found: dict[str, pathlib.Path], *, real: bool) -> None:
    """The whole story. Raises Refused or ClusterError where a step fails."""
    place = f"{host}/team"
    planned = plan.of({"REGISTRY": place})
    key = Key(program=str(found["cosign"]), folder=folder, name="dry-run").make()
    release = Release(
        run=local_run(),
        images=folder / "images",
        without=planned.without,
        join=join,
        cosign=key.cosign(),
        helm=str(helm.helm(say)),
        http=True,
    )
    built = page(release, folder)
    images(release, place, planned, real=real)
    made = release.ship_chart(folder / "chart")
    say(f"pushed    {made.name}")
    verify(key, release, made, built)
    print(planned.notes(), flush=True)
    if real:
        install(release, made, folder / "files" / files.SAMPLES, folder / "stranger")
    wheel = next(each for each in built if each.suffix == ".whl")
    Refusals(key=key, release=release, folder=folder, say=say).check(made, wheel)


def main(words: list[str]) -> int:
    """Run all steps; return 1 if a step fails."""
    if words not in ([], ["--no-node"]):
        print(__doc__, file=sys.stderr)
        return 2
    os.environ["COSIGN_PASSWORD"] = ""  # of the key that is thrown away
    os.environ.setdefault(
        "SOURCE_DATE_EPOCH", shell.run(["git", "-C", str(content.ROOT), "log", "-1", "--format=%ct"]).strip()
    )
    real = not words
    found = programs(say)
    with paths.scratch() as scratch:
        folder = pathlib.Path(scratch)
        namespace = node.up(say) if real else None
        with registry(found["registry"], folder, namespace) as host:
            try:
                tell(folder, host, found, real=real)
            except ReleaseRefused as error:
                raise ClusterError(str(error)) from error
    return 0


if __name__ == "__main__":
    run(main)
