"""KServe's Go module: fetched, compared with its pinned hash, its controller built and its manifests rendered, once.

The module is built in its own folder of Go's module cache. There its go.mod is the main one, so its `replace` lines
and its go.sum hold as they do upstream, and no go.mod of ours has to repeat them.
"""

import json
import pathlib
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import yaml

from hack.cluster import binaries, paths, shell
from hack.cluster.errors import ClusterError
from hack.kserve.objects import key_of
from hack.kserve.versions import MODULE, SUMS, KServeChoice

Say = Callable[[str], None]
FOLDERS: Final = ("default", "base", "clusterresources")
"""What upstream's `kserve.yaml` and `kserve-cluster-resources.yaml` are made of; 0.16 has `base` within `default`."""
_OURS: Final = "KSERVE_MANAGER and KSERVE_CONFIG run a controller that you built (docs/contributing.md)"
_WAY_OUT: Final = f"`go clean -modcache` makes Go fetch its modules anew; {_OURS}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What runs: the controller's program, and a JSON file with the list of upstream's objects."""

    manager: pathlib.Path
    manifests: pathlib.Path

    def objects(self) -> list[dict[str, Any]]:
        """Upstream's objects, as its kustomizations render them."""
        return objects_of(self.manifests)


def objects_of(file: pathlib.Path) -> list[dict[str, Any]]:
    """The objects in a file that `manifests` made."""
    found: list[dict[str, Any]] = json.loads(file.read_text())
    return found


def built(choice: KServeChoice, say: Say = print) -> Built:
    """The controller and the manifests of a choice, made where they are missing. Raises ClusterError."""
    manager = choice.manager or _program(choice.version, say)
    if choice.config is not None:
        target = paths.cache() / "kserve" / "given.json"
        _render(choice.config, target)
        return Built(manager=manager, manifests=target)
    return Built(manager=manager, manifests=manifests(choice.version))


def folder(version: str) -> pathlib.Path:
    """The folder of the program and the manifests of a version, built or not."""
    return paths.cache() / "kserve" / f"{version}-{SUMS[version][3:11].replace('/', '_')}"


def source(version: str) -> pathlib.Path:
    """The module's folder in Go's cache, fetched where it is missing. Raises ClusterError where its hash is another."""
    binaries.require_go()
    words = ["go", "mod", "download", "-json", f"{MODULE}@v{version}"]
    asked = subprocess.run(words, cwd=folder(version), capture_output=True, text=True, check=False)
    try:
        told = json.loads(asked.stdout)
    except ValueError:
        told = {"Error": asked.stderr.strip() or "it printed nothing"}
    if error := told.get("Error"):
        raise ClusterError(
            f"KServe {version} cannot be fetched; `{' '.join(words)}` says: {error}. Check that "
            f"`go env GOPROXY` names a proxy that this machine reaches; {_OURS}"
        )
    if told["Sum"] != SUMS[version]:
        raise ClusterError(
            f"{MODULE}@v{version} has the hash {told['Sum']}, and hack/kserve/versions.py pins {SUMS[version]}: it is "
            f"not the module that was tested, so it is not built. {_WAY_OUT}"
        )
    return pathlib.Path(told["Dir"])


def manifests(version: str) -> pathlib.Path:
    """A file with the objects of a version; the program is not built for it. Raises ClusterError."""
    target = folder(version) / "manifests.json"
    if not target.exists():
        with binaries.locked(folder(version)):
            if not target.exists():
                _render(source(version) / "config", target)
    return target


def _program(version: str, say: Say) -> pathlib.Path:
    target = folder(version) / "manager"
    if not target.exists():
        with binaries.locked(folder(version)):
            if not target.exists():
                _build(version, target, say)
    return target


def _build(version: str, target: pathlib.Path, say: Say) -> None:
    say(f"building KServe {version} ({MODULE}/cmd/manager)")
    root = source(version)
    try:
        binaries.compiled("./cmd/manager", target, root=root, flags="-s -w", say=say)
    except ClusterError as error:
        raise ClusterError(f"KServe {version} cannot be built: {error}\n{_WAY_OUT}") from error


def _render(config: pathlib.Path, target: pathlib.Path) -> None:
    """Write the objects of a `config` folder, each once. Names are relative: the path of Go's cache has an @."""
    kubectl = binaries.ensure("kubectl")["kubectl"]
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for name in FOLDERS:
        if (config / name).is_dir():
            text = shell.run(["env", f"--chdir={config}", str(kubectl), "kustomize", name])
            loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
            found |= {key_of(each): each for each in yaml.load_all(text, loader) if each}
    if not found:
        raise ClusterError(f"{config} renders no object: it must be the folder `config` of KServe's source")
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(list(found.values())))
    unfinished.rename(target)
