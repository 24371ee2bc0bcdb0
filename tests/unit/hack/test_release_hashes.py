"""What is installed is what was locked: hashes in requirements and installs, bases by digest."""

import pathlib
import re
import subprocess
import tomllib

import pytest
from hack.cluster.errors import ClusterError
from hack.images import build, content, hashed, locked
from hack.packaging import plugin
from hack.release import dockerfile

FILES = sorted(locked.FOLDER.glob("*.txt"))
INSTALLERS = (
    *sorted(content.ROOT.glob("Dockerfile.*")),
    content.ROOT / "Makefile",
    *sorted((content.ROOT / "hack" / "images").rglob("*.sh")),
    content.ROOT / "hack" / "images" / "storage" / "Dockerfile",
    *sorted((content.ROOT / ".github" / "workflows").glob("*.yaml")),
)
LOCK = """
[[packages]]
name = "quick"
version = "1"
wheels = [
  { url = "https://x/quick-1-cp311-cp311-manylinux_2_28_x86_64.whl", hashes = { sha256 = "aa" } },
  { url = "https://x/quick-1-cp311-cp311-manylinux_2_28_aarch64.whl", hashes = { sha256 = "bb" } },
  { url = "https://x/quick-1-cp312-cp312-manylinux_2_28_x86_64.whl", hashes = { sha256 = "cc" } },
  { url = "https://x/quick-1-cp311-cp311-manylinux_2_39_x86_64.whl", hashes = { sha256 = "dd" } },
  { url = "https://x/quick-1-cp311-cp311-macosx_11_0_arm64.whl", hashes = { sha256 = "ee" } },
]
sdist = { url = "https://x/quick-1.tar.gz", hashes = { sha256 = "ff" } }

[[packages]]
name = "nvidia-cublas"
version = "13"
wheels = [{ url = "https://x/nvidia_cublas-13-py3-none-manylinux1_x86_64.whl", hashes = { sha256 = "11" } }]

[[packages]]
name = "colorama"
version = "2"
marker = "sys_platform == 'win32'"
wheels = [{ url = "https://x/colorama-2-py3-none-any.whl", hashes = { sha256 = "22" } }]

[[packages]]
name = "intel"
version = "3"
marker = "platform_machine == 'x86_64'"
wheels = [{ url = "https://x/intel-3-py3-none-any.whl", hashes = { sha256 = "33" } }]
"""
NOTHING = re.compile("$^")


@pytest.mark.parametrize("kind", ["override-dependencies", "constraint-dependencies"])
def test_what_uv_holds_packages_to_is_one_version(kind: str) -> None:
    """uv replaces a pin by an override, and asks a pin of a constraint wherever hashes are required."""
    settings = tomllib.loads((content.ROOT / "pyproject.toml").read_text())["tool"]["uv"]
    assert settings[kind]
    for each in settings[kind]:
        assert re.fullmatch(r"[\w.-]+==[\w.]+", each), each


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_package_that_an_image_installs_has_hashes(file: pathlib.Path) -> None:
    """A line with a package goes on, in lines of hashes only."""
    text = re.sub(r"\A#.*\n", "", file.read_text())
    entries = re.split(r"\n(?=\S)", text.rstrip("\n"))
    assert len(entries) == len(re.findall(r"^\S", text, re.MULTILINE))
    for entry in entries:
        assert re.fullmatch(r"[\w.-]+==\S+( ; [^\\\n]+)?( \\\n    --hash=sha256:[0-9a-f]{64})+", entry), entry


def test_no_install_goes_without_hashes() -> None:
    """Each `pip install` of the images, of the repository and of the workflows has the option --require-hashes."""
    found = {}
    for file in INSTALLERS:
        commands = re.findall(r"\bpip\"? install\b(?:[^\n]*\\\n)*[^\n]*", file.read_text())
        found[file.name] = len(commands)
        assert [each for each in commands if "--require-hashes" not in each] == [], file
    assert {name for name, count in found.items() if count} == {
        "Dockerfile",
        "Dockerfile.operator",
        "Makefile",
        "indexed.sh",
        "install.sh",
        "sbom.sh",
    }


def test_the_wheel_is_built_with_a_locked_backend() -> None:
    """At one place, which the workflow uses as well: what builds the wheel writes it."""
    files = [*(content.ROOT / ".github" / "workflows").glob("*.yaml"), *(content.ROOT / "hack").rglob("*.py")]
    builds = re.findall(r"^.*(?:uv build |uv\(\), \"build\").*$", "\n".join(each.read_text() for each in files), re.M)
    assert len(builds) == 1
    assert "*BACKEND" in builds[0]
    requirements = content.ROOT / "hack" / "images" / "requirements" / "backend.txt"
    assert (f"--build-constraints={requirements}", "--require-hashes") == plugin.BACKEND


def test_uv_has_one_version() -> None:
    """It is in hack/images/locked.toml; nothing else names one."""
    assert len(locked.pins(locked.path("uv").read_text())) == 1
    for file in INSTALLERS:
        assert not re.search(r"UV_VERSION|\buv==", file.read_text()), file


def test_only_files_that_the_image_can_install_have_their_hash() -> None:
    """Python 3.11 on glibc 2.36, both processors. What was made for others would only widen what is taken."""
    text = hashed.requirements(LOCK, hashed.Installs(pythons=("3.11",)), re.compile("nvidia-"))
    assert text == (
        "quick==1 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n"
        "intel==3 ; platform_machine == 'x86_64' \\\n    --hash=sha256:33\n"
    )


def test_what_is_built_from_source_has_the_hash_of_its_source_alone() -> None:
    """PyPI's wheel of vLLM is CUDA's: it must not be taken in the place of the build."""
    text = hashed.requirements(LOCK, hashed.Installs(pythons=("3.12",), built=("quick",)), re.compile("nvidia-"))
    assert text.startswith("quick==1 \\\n    --hash=sha256:ff\nintel")


def test_what_everybody_installs_has_every_hash() -> None:
    """uv is installed on developers' machines too."""
    text = hashed.requirements(LOCK, hashed.Installs(), NOTHING)
    assert text.count("--hash") == 9
    assert "colorama==2 ; sys_platform == 'win32'" in text


def test_a_package_without_a_file_for_the_image_is_reported() -> None:
    """Left out, it would be missing when the image runs."""
    lock = LOCK.partition('[[packages]]\nname = "nvidia')[0]
    with pytest.raises(ClusterError, match=r"quick==1: the lock names no file of it for Python 3\.13 on Linux: choose"):
        hashed.requirements(lock, hashed.Installs(pythons=("3.13",)), NOTHING)


@pytest.mark.parametrize("image", ["cpu", "ascend"])
def test_cudas_libraries_except_the_runtime_are_left_out(image: str) -> None:
    assert locked.is_left_out(image, "nvidia-cublas")
    assert not locked.is_left_out(image, "nvidia-cuda-runtime")
    assert not locked.is_left_out("nvidia", "nvidia-cublas")


def test_the_public_base_is_the_same_image_everywhere() -> None:
    """One digest, in each file that stands on Debian; the local build reads it from there."""
    files = ("Dockerfile.operator", "Dockerfile.runtime", "hack/images/storage/Dockerfile")
    found = {dockerfile.default(file, "BASE_IMAGE") for file in files}
    assert found == {build.PUBLIC}
    assert dockerfile.Base(argument="", image=build.PUBLIC).pinned


@pytest.mark.parametrize("target", ["operator", "cpu", "nvidia"])
def test_what_is_released_stands_on_images_by_digest(target: str) -> None:
    """A tag may be moved to another image between two builds."""
    (base,) = dockerfile.bases(target, {})
    assert base.argument == "BASE_IMAGE"
    assert dockerfile.faults(target, {}) == []


def test_a_base_without_a_digest_is_refused_with_the_way_out() -> None:
    """No digest of CANN's image is known to this repository: the user who releases for Ascend names it."""
    (fault,) = dockerfile.faults("ascend", {"ASCEND_BASE_IMAGE": ""})
    assert "Dockerfile.runtime, target ascend" in fault
    assert "build argument ASCEND_BASE_IMAGE; `docker buildx imagetools inspect ascendai/cann:" in fault
    assert dockerfile.faults("ascend", {"ASCEND_BASE_IMAGE": f"cann@sha256:{'0' * 64}"}) == []


def test_a_base_that_is_written_into_a_stage_counts_too(tmp_path: pathlib.Path) -> None:
    """Not only what has an argument, and through every stage that the target copies from."""
    (tmp_path / "Dockerfile.operator").write_text(
        "FROM golang:1 AS tools\nRUN x\nFROM debian:1 AS operator\nCOPY --from=tools /x /\nFROM scratch AS other\n"
    )
    assert [each.image for each in dockerfile.bases("operator", {}, tmp_path)] == ["debian:1", "golang:1"]
    assert len(dockerfile.faults("operator", {}, tmp_path)) == 2


def test_an_index_without_hashes_is_refused_before_anything_is_installed() -> None:
    """PyTorch's CPU builds and Ascend's compiler come from indexes that the lock does not know."""
    script = content.ROOT / "hack" / "images" / "engine" / "indexed.sh"
    words = ["sh", str(script), "torch==2.13.0+cpu", "https://index.example/whl", ""]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "torch==2.13.0+cpu of https://index.example/whl: no hash is given" in done.stderr
