"""The kubectl plugin: krew's manifest, and an archive for each platform, of a launcher and every package for each
Python it runs on.

Compiled packages (pydantic-core, aiohttp, ...) come as wheels and are made for one Python each; what is the same for
all of them lies in `common` once. The same inputs give the same bytes.
"""

import filecmp
import gzip
import hashlib
import io
import pathlib
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import yaml

from hack.cluster import shell
from specdec_operator import __version__

PLUGIN = "kubectl-specdec"
ROOT: Final = pathlib.Path(__file__).parents[2]
_SECONDS = 600.0
_COMMON = "common"
_PROGRAM_MODE = 0o755
_FILE_MODE = 0o644
TEMPLATE: Final = ROOT / "packaging" / "krew" / "specdec.yaml"
BACKEND: Final = (f"--build-constraints={ROOT}/hack/images/requirements/backend.txt", "--require-hashes")
"""What builds the wheel writes it."""
PYTHONS: Final = ("3.11", "3.12", "3.13", "3.14")


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginPlatform:
    """An operating system and an architecture as kubectl's plugins name them, and as uv does."""

    os: str
    arch: str
    target: str

    @property
    def name(self) -> str:
        """Such as linux_amd64."""
        return f"{self.os}_{self.arch}"


PLATFORMS: Final = (
    PluginPlatform(os="linux", arch="amd64", target="x86_64-manylinux_2_28"),
    PluginPlatform(os="linux", arch="arm64", target="aarch64-manylinux_2_28"),
    PluginPlatform(os="darwin", arch="amd64", target="x86_64-apple-darwin"),
    PluginPlatform(os="darwin", arch="arm64", target="aarch64-apple-darwin"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """One archive. sha256: of its bytes, in hexadecimal."""

    platform: PluginPlatform
    uri: str
    sha256: str


def manifest(version: str, packed: Iterable[Packed]) -> str:
    """The manifest as YAML: the template with the version and the platforms."""
    made: dict[str, Any] = yaml.safe_load(TEMPLATE.read_text(encoding="utf-8"))
    made["spec"] |= {"version": f"v{version}", "platforms": [_entry(each) for each in packed]}
    return yaml.safe_dump(made, sort_keys=False, width=110)


def _entry(packed: Packed) -> dict[str, Any]:
    return {
        "selector": {"matchLabels": {"os": packed.platform.os, "arch": packed.platform.arch}},
        "uri": packed.uri,
        "sha256": packed.sha256,
        "bin": PLUGIN,
    }


def plugin(base: str, wanted: tuple[PluginPlatform, ...], target: pathlib.Path) -> pathlib.Path:
    """Write an archive for each platform, and the manifest; return the manifest's path."""
    target.mkdir(parents=True, exist_ok=True)
    packed = []
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        project, pins = wheel(work), requirements(work)
        for platform in wanted:
            inner = work / platform.name
            inner.mkdir()
            content = pack(platform, project, pins, inner)
            file = target / f"{PLUGIN}_v{__version__}_{platform.name}.tar.gz"
            file.write_bytes(content)
            print(f"{file.name}: {len(content) / 1e6:.1f} MB")
            packed.append(Packed(platform=platform, uri=f"{base.rstrip('/')}/{file.name}", sha256=digest(content)))
    path = target / "specdec.yaml"
    path.write_text(manifest(__version__, packed), encoding="utf-8")
    return path


def wheel(folder: pathlib.Path) -> pathlib.Path:
    """Build the project's wheel into a folder."""
    packages(folder, "--wheel")
    (made,) = folder.glob("*.whl")
    return made


def packages(folder: pathlib.Path, *words: str) -> None:
    """Build the project's wheel and source archive into a folder. words: for one of them only."""
    shell.run([uv(), "build", "--quiet", *words, *BACKEND, f"--out-dir={folder}", str(ROOT)], timeout=_SECONDS)
    (folder / ".gitignore").unlink(missing_ok=True)  # of uv


def requirements(folder: pathlib.Path) -> pathlib.Path:
    """Write the command's dependencies, as uv.lock pins them, with their hashes."""
    target = folder / "requirements.txt"
    wanted = ["--frozen", "--no-dev", "--extra=cli", "--no-emit-project", f"--output-file={target}"]
    shell.run([uv(), "export", "--quiet", f"--project={ROOT}", *wanted], timeout=_SECONDS)
    return target


def pack(platform: PluginPlatform, project: pathlib.Path, pins: pathlib.Path, folder: pathlib.Path) -> bytes:
    """The archive, gzipped. project: the wheel. folder: an empty one to work in."""
    for python in PYTHONS:
        _install(platform, python, project, pins, folder / f"py{python}")
    _share([folder / f"py{each}" for each in PYTHONS], folder / _COMMON)
    shutil.copy(pathlib.Path(__file__).with_name("launcher.py"), folder / PLUGIN)
    shutil.copy(ROOT / "packaging" / "kubectl_complete-specdec", folder)
    shutil.copy(ROOT / "LICENSE", folder)
    return packed(folder, programs="kubectl")


def digest(content: bytes) -> str:
    """Its SHA-256, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def uv() -> str:
    """Return the path of uv in this environment."""
    return str(pathlib.Path(sys.executable).with_name("uv"))


def _install(
    platform: PluginPlatform, python: str, project: pathlib.Path, pins: pathlib.Path, target: pathlib.Path
) -> None:
    where = [f"--target={target}", f"--python-version={python}", f"--python-platform={platform.target}"]
    how = ["--quiet", "--no-deps", "--only-binary=:all:", "--link-mode=copy", f"--python={sys.executable}"]
    for what in (["--require-hashes", f"--requirement={pins}"], [str(project)]):
        shell.run([uv(), "pip", "install", *how, *where, *what], timeout=_SECONDS)
    shutil.rmtree(target / "bin", ignore_errors=True)  # programs that begin with this machine's own Python
    (target / ".lock").unlink(missing_ok=True)


def _share(folders: list[pathlib.Path], common: pathlib.Path) -> None:
    """Move what is the same in every folder into one."""
    common.mkdir()
    first, *others = folders
    for entry in sorted(first.iterdir()):
        if all(_same(entry, each / entry.name) for each in others):
            shutil.move(entry, common / entry.name)
            for each in others:
                _remove(each / entry.name)


def _same(one: pathlib.Path, other: pathlib.Path) -> bool:
    if one.is_file():
        return other.is_file() and filecmp.cmp(one, other, shallow=False)
    found = [sorted(each.relative_to(top) for each in top.rglob("*")) for top in (one, other)]
    return found[0] == found[1] and all(
        filecmp.cmp(one / each, other / each, shallow=False) for each in found[0] if (one / each).is_file()
    )


def _remove(path: pathlib.Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def packed(folder: pathlib.Path, programs: str = "") -> bytes:
    """The files of a folder as one gzipped archive, without the time and the user of this machine.

    Regular files only, which is all that krew unpacks. programs: how the names of executable files at the top begin.
    """
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(each for each in folder.rglob("*") if each.is_file() and "__pycache__" not in each.parts):
            entry = tarfile.TarInfo(path.relative_to(folder).as_posix())
            entry.size, entry.mode = path.stat().st_size, _FILE_MODE
            if programs and path.parent == folder and path.name.startswith(programs):
                entry.mode = _PROGRAM_MODE
            with path.open("rb") as content:
                archive.addfile(entry, content)
    return gzip.compress(raw.getvalue(), compresslevel=6, mtime=0)
