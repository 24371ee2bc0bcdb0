"""The sandbox image: one static program in a docker archive, so simple that it is written right here."""

import hashlib
import io
import json
import pathlib
import platform
import tarfile

_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}


def archive(program: pathlib.Path, reference: str, target: pathlib.Path) -> pathlib.Path:
    """Write an image archive that holds only this program, as its entry point."""
    layer = _tar({"pause": program.read_bytes()}, mode=0o755)
    config = json.dumps(_config(hashlib.sha256(layer).hexdigest())).encode()
    name = f"{hashlib.sha256(config).hexdigest()}.json"
    manifest = json.dumps([{"Config": name, "RepoTags": [reference], "Layers": ["layer.tar"]}]).encode()
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(_tar({name: config, "layer.tar": layer, "manifest.json": manifest}, mode=0o644))
    return target


def _config(layer: str) -> dict[str, object]:
    return {
        "architecture": _MACHINES.get(platform.machine(), platform.machine()),
        "os": "linux",
        "config": {"Entrypoint": ["/pause"], "User": "65535:65535"},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer}"]},
    }


def _tar(files: dict[str, bytes], *, mode: int) -> bytes:
    """Pack files with no owner and no time, so that the same program gives the same image."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as packed:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), mode
            packed.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()
