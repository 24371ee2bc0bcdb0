"""The archive of the kubectl plugin: what krew unpacks, that it runs, and the manifest that names it."""

import hashlib
import os
import pathlib
import platform
import subprocess
import sys
import tarfile

import pytest
import yaml
from hack.cluster import binaries
from hack.packaging import plugin as archive
from hack.packaging.plugin import PLATFORMS, PYTHONS, Packed, manifest, plugin

from specdec_operator import __version__

ROOT = pathlib.Path(__file__).parents[3]
_ARCH = {"x86_64": "amd64", "aarch64": "arm64", "arm64": "arm64"}.get(platform.machine(), "")
_SAMPLE = ROOT / "manifests" / "samples" / "nvidia-eagle3.yaml"


def test_the_manifest_is_one_that_krew_takes() -> None:
    """Names, version and selectors by krew's rules; each platform with its own archive."""
    packed = [Packed(platform=each, uri=f"https://h/{each.name}.tar.gz", sha256="0" * 64) for each in PLATFORMS]
    made = yaml.safe_load(manifest("1.2.3", packed))
    assert (made["apiVersion"], made["kind"]) == ("krew.googlecontainertools.github.com/v1alpha2", "Plugin")
    assert made["metadata"] == {"name": "specdec"}
    assert made["spec"]["version"] == "v1.2.3"
    assert 0 < len(made["spec"]["shortDescription"]) <= 50
    entries = made["spec"]["platforms"]
    assert {each["uri"] for each in entries} == {each.uri for each in packed}
    assert {tuple(sorted(each["selector"]["matchLabels"])) for each in entries} == {("arch", "os")}
    assert {each["bin"] for each in entries} == {"kubectl-specdec"}


def test_the_pythons_are_those_that_the_project_is_for() -> None:
    """`requires-python` and the archive move together."""
    text = (ROOT / "pyproject.toml").read_text()
    assert f'requires-python = ">={PYTHONS[0]},<3.{int(PYTHONS[-1].partition(".")[2]) + 1}"' in text
    caveats = yaml.safe_load((ROOT / "packaging" / "krew" / "specdec.yaml").read_text())["spec"]["caveats"]
    assert all(each in caveats for each in PYTHONS)


def test_a_python_without_packages_is_refused_with_the_versions_that_have_them(tmp_path: pathlib.Path) -> None:
    """Krew installs no Python."""
    launcher = tmp_path / "kubectl-specdec"
    launcher.write_text((ROOT / "hack" / "packaging" / "launcher.py").read_text())
    (tmp_path / "py3.99").mkdir()
    done = subprocess.run([sys.executable, str(launcher)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("specdec needs Python 3.99 as python3 on PATH; this one is 3.")


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The plugin for this machine, unpacked and linked as krew does it; the folder is on kubectl's PATH."""
    folder = tmp_path_factory.mktemp("plugin")
    (here,) = (each for each in PLATFORMS if (each.os, each.arch) == (sys.platform, _ARCH))
    made = yaml.safe_load(plugin("https://host/dl/", (here,), folder).read_text())
    (entry,) = made["spec"]["platforms"]
    file = folder / entry["uri"].rpartition("/")[2]
    assert hashlib.sha256(file.read_bytes()).hexdigest() == entry["sha256"]
    with tarfile.open(file) as content:
        assert all(each.isreg() for each in content.getmembers())  # krew unpacks nothing else
        content.extractall(folder / "store", filter="data")
    (folder / "bin").mkdir()
    (folder / "bin" / "kubectl-specdec").symlink_to(folder / "store" / entry["bin"])
    return folder


@pytest.mark.index
@pytest.mark.skipif(not _ARCH or sys.platform not in ("linux", "darwin"), reason="no archive is made for this machine")
def test_the_archive_runs_as_kubectl_specdec(unpacked: pathlib.Path) -> None:
    """By the real kubectl, with nothing of this checkout or its environment in reach."""
    kubectl = binaries.ensure("kubectl")["kubectl"]
    around = {"PATH": f"{unpacked / 'bin'}:/usr/bin:/bin", "HOME": os.environ.get("HOME", "/")}
    said = [
        subprocess.run([str(kubectl), "specdec", *words], env=around, capture_output=True, text=True, check=False)
        for words in (
            ["--version"],
            ["validate", str(_SAMPLE)],
            ["explain", "eagle3"],
            ["doctor", "--kubeconfig", "/no"],
        )
    ]
    assert said[0].stdout == f"specdec {__version__}\n", said[0].stderr
    assert [each.returncode for each in said] == [0, 0, 0, 2]
    assert "no kubeconfig exists at /no" in said[3].stderr


@pytest.mark.index
@pytest.mark.skipif(not _ARCH or sys.platform not in ("linux", "darwin"), reason="no archive is made for this machine")
def test_every_python_has_the_compiled_packages(unpacked: pathlib.Path) -> None:
    """And what is the same for all lies there once."""
    store = unpacked / "store"
    for each in PYTHONS:
        tag = each.replace(".", "")
        assert list((store / f"py{each}" / "pydantic_core").glob(f"*{tag}*"))
    assert (store / "common" / "specdec_command" / "cli" / "main.py").exists()
    assert (store / archive.PLUGIN).stat().st_mode & 0o111
