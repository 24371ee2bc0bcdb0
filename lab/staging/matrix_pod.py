"""Which model a pod has at which path: read from the admitted pod alone. Pure."""

import itertools
import json
import posixpath
from collections.abc import Iterator, Mapping
from typing import Any, Final

Object = dict[str, Any]
ENGINE: Final = "kserve-container"
_MODEL: Final = "--model="
_MODULES: Final = "--lora-modules"
_SPECULATION: Final = "--speculative-config="
_LINK: Final = "ln -sf /proc/$$$$/root/models "
"""In the command of a Modelcar: $$ is doubled, because Kubernetes expands it."""


def brought(pod: Object) -> dict[str, str]:
    """The content of each folder as the engine sees it: the URI by the folder."""
    spec = pod["spec"]
    engine = next(each for each in spec["containers"] if each["name"] == ENGINE)
    volumes = {each["name"]: each for each in spec.get("volumes") or ()}
    mounts = {each["mountPath"].rstrip("/"): each for each in engine.get("volumeMounts") or ()}
    found = {at: uri for at, each in mounts.items() if (uri := _mounted(each, volumes[each["name"]]))}
    for container in spec.get("initContainers") or ():
        if container["name"] == "storage-initializer":
            found |= dict(_shared(_downloads(container), container, mounts))
    if spec.get("shareProcessNamespace"):
        for container in spec["containers"]:
            found |= dict(_shared(_linked(container), container, mounts))
    return found


def content(pod: Object, path: str) -> str | None:
    """The URI of what is at a path; None: nothing is."""
    found = brought(pod)
    over = [at for at in found if path == at or path.startswith(f"{at}/")]
    if not over:
        return None
    at = max(over, key=len)
    return uri_of(found[at], path.removeprefix(at))


def uri_of(uri: str, folder: str = "") -> str:
    """A URI, or a folder below it, written in one way."""
    return "/".join(each.strip("/") if index else each.rstrip("/") for index, each in enumerate((uri, folder)) if each)


def flags(pod: Object) -> dict[str, str]:
    """The folders of target, draft and adapters in the engine's arguments."""
    engine = next(each for each in pod["spec"]["containers"] if each["name"] == ENGINE)
    found: dict[str, str] = {}
    words: list[str] = engine["args"]
    if _MODULES in words:
        modules = itertools.takewhile(lambda each: not each.startswith("--"), words[words.index(_MODULES) + 1 :])
        found |= {f"adapter-{index}": each.partition("=")[2] for index, each in enumerate(modules)}
    for each in words:
        if each.startswith(_MODEL):
            found["target"] = each.removeprefix(_MODEL)
        if each.startswith(_SPECULATION) and (model := json.loads(each.removeprefix(_SPECULATION)).get("model")):
            found["draft"] = model
    return found


def nested(pod: Object) -> list[str]:
    """Mounts of the engine for which a container runtime has to make a folder within a read-only mount."""
    engine = next(each for each in pod["spec"]["containers"] if each["name"] == ENGINE)
    mounts = {each["mountPath"].rstrip("/"): bool(each.get("readOnly")) for each in engine.get("volumeMounts") or ()}
    return [at for at in mounts if any(at.startswith(f"{each}/") and fixed for each, fixed in mounts.items())]


def shape(pod: Object) -> Object:
    """What KServe made of the pod: its containers, and by folder below /mnt the volume that is mounted there."""
    spec = pod["spec"]
    engine = next(each for each in spec["containers"] if each["name"] == ENGINE)
    kinds = {each["name"]: next(key for key in each if key != "name") for each in spec.get("volumes") or ()}
    mounts = {
        each["mountPath"]: " ".join(
            [kinds[each["name"]], *([each["subPath"]] if each.get("subPath") else []), *_ways(each)]
        )
        for each in engine.get("volumeMounts") or ()
        if each["mountPath"].startswith("/mnt")
    }
    return {
        "containers": [each["name"] for each in spec["containers"]],
        "init": [each["name"] for each in spec.get("initContainers") or ()],
        "mounts": dict(sorted(mounts.items())),
    }


def _ways(mount: Mapping[str, Any]) -> list[str]:
    return ["read-only"] if mount.get("readOnly") else []


def _mounted(mount: Mapping[str, Any], volume: Mapping[str, Any]) -> str | None:
    """What a volume has by itself; an empty one has nothing."""
    if claim := volume.get("persistentVolumeClaim"):
        return uri_of(f"pvc://{claim['claimName']}", mount.get("subPath", ""))
    if volume.get("image") and mount.get("subPath") == "models":
        return f"oci+native://{volume['image']['reference']}"
    return None


def _downloads(container: Mapping[str, Any]) -> dict[str, str]:
    """What the download container is configured to fetch, by folder. It takes an image for a file."""
    words = container.get("args") or []
    pairs = zip(words[::2], words[1::2], strict=True)
    return {at.rstrip("/"): uri for uri, at in pairs if not uri.startswith("oci")}


def _linked(container: Mapping[str, Any]) -> dict[str, str]:
    """The link that a Modelcar makes, and its image."""
    text = " ".join(container.get("args") or ())
    if _LINK not in text:
        return {}
    return {text.partition(_LINK)[2].split()[0].rstrip("/"): f"oci://{container['image']}"}


def _shared(
    found: Mapping[str, str], container: Mapping[str, Any], mounts: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, str]]:
    """Of what another container puts somewhere, what the engine sees: the same volume is mounted at the same place."""
    theirs = {each["mountPath"].rstrip("/"): each["name"] for each in container.get("volumeMounts") or ()}
    for at, uri in found.items():
        over = [each for each in mounts if at == each or at.startswith(f"{each}/")]
        nearest = max(over, key=len, default="")
        if nearest and theirs.get(nearest) == mounts[nearest]["name"]:
            yield posixpath.normpath(at), uri
