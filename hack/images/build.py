"""Builds what is missing and removes what it replaces: an engine image is gigabytes."""

import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hack import images
from hack.cluster import paths, shell
from hack.cluster.errors import ClusterError
from hack.images import content, tool
from hack.kserve.objects import STORAGE_IMAGE
from hack.release import dockerfile

# How many states of the tree stay in the store; their big layer is shared.
_KEPT = 3
_LABELLED = ("cpu", "nvidia", "ascend")
_STORAGE = "hack/images/storage/Dockerfile"
PUBLIC = dockerfile.default("Dockerfile.operator", "BASE_IMAGE")
LOCAL = "localhost/specdec-base:bookworm"
_MIRROR = "http://deb.debian.org/debian"
_PACKAGES = ("python3", "ca-certificates", "libnuma1", "libgomp1")
_MINUTES = 15 * 60


@dataclass(frozen=True, kw_only=True, slots=True)
class Product:
    """One image to build. alias: a name under which others look for it on the node; arguments: more of the build."""

    ref: str
    file: str
    target: str | None = None
    alias: str | None = None
    arguments: Mapping[str, str] = field(default_factory=dict)


def product(name: str) -> Product:
    """Return what a short name stands for in this state of the tree."""
    refs = images.refs()
    match name:
        case "operator":
            return Product(ref=refs.operator, file="Dockerfile.operator")
        case "runtime":
            return Product(ref=refs.runtime, file="Dockerfile.runtime", target="cpu")
        case "nvidia" | "ascend":
            return Product(ref=images.accelerated(name), file="Dockerfile.runtime", target=name)
        case "initializer":
            version = images.kserve()
            alias = f"{STORAGE_IMAGE}:v{version}"
            given = {"KSERVE": version}
            return Product(ref=refs.initializer, file=_STORAGE, target="initializer", alias=alias, arguments=given)
        case _:
            return Product(ref=refs.s3, file=_STORAGE, target="s3")


def ensure(
    builder: tool.Tool, wanted: Product, say: Callable[[str], None], given: Mapping[str, str] | None = None
) -> bool:
    """Build an image unless it exists; return whether it was built. given: more arguments of the build."""
    if builder.has(wanted.ref):
        return False
    base = foundation(builder)
    say(f"building {wanted.ref} on {base}")
    arguments = {"BASE_IMAGE": base} | (labels() if wanted.target in _LABELLED else {})
    arguments |= dict(wanted.arguments) | dict(given or {})
    command = builder.build(wanted.file, wanted.target, wanted.ref, arguments)
    done = subprocess.run(command, cwd=content.ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        words = "\n".join((done.stdout + done.stderr).splitlines()[-30:])
        raise ClusterError(f"the build of {wanted.ref} from {wanted.file} failed:\n{words}")
    _forget_old(builder, wanted)
    return True


def labels() -> dict[str, str]:
    """Return the runtime image's labels: the project's version and the commit; `unknown` outside of Git."""
    revision = shell.ask(["git", "-C", str(content.ROOT), "rev-parse", "HEAD"])
    return {"VERSION": content.version(), "REVISION": revision.out.strip() if revision.code == 0 else "unknown"}


def _forget_old(builder: tool.Tool, wanted: Product) -> None:
    """Remove older images of the same kind; one that is still used by a container stays."""
    repository = wanted.ref.rpartition(":")[0]
    for ref in builder.names(repository)[_KEPT:]:
        if ref != wanted.ref:
            subprocess.run(builder.remove(ref), capture_output=True, check=False)


def foundation(builder: tool.Tool) -> str:
    """Return the Debian that the images stand on: the public image where a registry answers, else one made here."""
    for ref in (LOCAL, PUBLIC):
        if builder.has(ref):
            return ref
    if builder.kind is not tool.ImageTool.BUILDAH or builder.pulled(PUBLIC):
        return PUBLIC
    _bootstrap()
    return LOCAL


def _bootstrap() -> None:
    """Make a Debian folder by debootstrap and commit it as an image of one layer."""
    tool.require("debootstrap")
    with paths.scratch() as folder:
        root = Path(folder) / "root"
        shell.run(
            ["debootstrap", "--variant=minbase", f"--include={','.join(_PACKAGES)}", "bookworm", str(root), _MIRROR],
            timeout=_MINUTES,
        )
        for leftover in ("var/cache/apt", "var/lib/apt/lists", "var/log"):
            shutil.rmtree(root / leftover)
            (root / leftover).mkdir()
        with tool.container("scratch") as container:
            shell.run(["buildah", "add", "--quiet", container, str(root), "/"], timeout=_MINUTES)
            shell.run(["buildah", "config", "--env", "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", container])
            shell.run(["buildah", "commit", "--quiet", container, LOCAL], timeout=_MINUTES)
