"""The program that builds and runs images here: docker or podman where their engine answers, else buildah."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum

from hack.cluster import packages, shell
from hack.cluster.errors import ClusterError

# A registry that cannot be reached should not cost minutes.
_PULL_SECONDS = 30
_CERTIFICATES = "/etc/ssl/certs"
# Bind mounts of a plain chroot; without an engine there is no other isolation as root inside containers.
_BUILDAH = ("--isolation=chroot", "--network=host")


class ImageTool(StrEnum):
    """The programs that are known."""

    DOCKER = "docker"
    PODMAN = "podman"
    BUILDAH = "buildah"


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    """Commands for one of the programs."""

    kind: ImageTool

    def has(self, ref: str) -> bool:
        """Return whether the image is in the tool's store."""
        return shell.ask([self.kind, "inspect", "--type=image", ref], timeout=60).code == 0

    def pulled(self, ref: str) -> bool:
        """Return whether the image could be fetched from its registry."""
        return shell.ask([self.kind, "pull", "--quiet", ref], timeout=_PULL_SECONDS).code == 0

    def build(self, file: str, target: str | None, ref: str, arguments: dict[str, str]) -> list[str]:
        """Return the command that builds an image from the repository."""
        options = [f"--file={file}", f"--tag={ref}"]
        options += [f"--target={target}"] if target else []
        options += [f"--build-arg={name}={value}" for name, value in arguments.items()]
        if self.kind is ImageTool.DOCKER:
            return ["docker", "build", "--quiet", *options, "."]  # BuildKit reads SOURCE_DATE_EPOCH itself
        # The machine's certificates, so that a proxy with one of its own works inside the build as it does outside.
        certificates = f"--volume={_CERTIFICATES}:{_CERTIFICATES}:ro"
        isolation = _BUILDAH if self.kind is ImageTool.BUILDAH else ("--network=host",)
        # With it, building twice gives the same layers.
        epoch = os.environ.get("SOURCE_DATE_EPOCH")
        fixed = [f"--timestamp={epoch}"] if epoch else []
        return [self.kind, "build", "--layers", *isolation, *fixed, certificates, *options, "."]

    def push(self, ref: str) -> list[str]:
        """Return the command that sends an image of a model to the registry in its name."""
        # Weights hardly shrink, and every pod that pulls them would wait for their unpacking.
        plain = ["--disable-compression"] if self.kind is ImageTool.BUILDAH else []
        return [self.kind, "push", "--quiet", *plain, ref]

    def size(self, ref: str) -> str:
        """Return the size of an image in its store, as the tool prints it."""
        return shell.run([self.kind, "images", "--format={{.Size}}", ref]).strip()

    def remove(self, ref: str) -> list[str]:
        """Return the command that removes an image."""
        return [self.kind, "rmi", ref]

    def names(self, repository: str) -> list[str]:
        """Return the images of a repository, newest first."""
        # Filtered here: buildah takes a repository without a tag for an image that it does not know.
        name = "Name" if self.kind is ImageTool.BUILDAH else "Repository"
        listed = shell.run([self.kind, "images", f"--format={{{{.{name}}}}}:{{{{.Tag}}}}"])
        return [line for line in listed.split() if line.startswith(f"{repository}:") and not line.endswith(":<none>")]


def choose() -> Tool:
    """Return the tool of this machine; on Debian, buildah is installed where there is none."""
    found = shell.container_engine()
    if found is not None:
        return Tool(kind=ImageTool(found))
    if shutil.which("buildah") is None:
        _install("buildah")
    return Tool(kind=ImageTool.BUILDAH)


@contextmanager
def container(*words: str) -> Iterator[str]:
    """A container of buildah's for the length of a block. words: of `buildah from`."""
    name = shell.run(["buildah", "from", *words]).strip()
    try:
        yield name
    finally:
        shell.ask(["buildah", "rm", name])


def require(program: str) -> None:
    """Install a Debian package that has the program's name, where the program is missing."""
    if shutil.which(program, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin") is None:
        _install(program)


def _install(package: str) -> None:
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        raise ClusterError(
            f"{package} is needed to build images, and neither docker nor podman answers: "
            f"start one of them, or install {package} (a Debian package of that name) as root"
        )
    packages.install(package)
