"""What is in the wheel and the source archive, and that the command runs where only the wheel was installed."""

import os
import pathlib
import subprocess
import sys
import tarfile
import zipfile

import pytest

from specdec_operator import __version__

ROOT = pathlib.Path(__file__).parents[3]
UV = pathlib.Path(sys.executable).with_name("uv")
_PACKAGES = (
    ROOT / "operator" / "specdec_command",
    ROOT / "operator" / "specdec_operator",
    ROOT / "runtime" / "specdec_engine",
    ROOT / "runtime" / "specdec_runtime",
)
_SAMPLE = ROOT / "manifests" / "samples" / "nvidia-eagle3.yaml"

pytestmark = pytest.mark.index


def run(*argv: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """A program with its output. It finds no package of this checkout."""
    clean = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    words = [str(each) for each in argv]
    return subprocess.run(words, env=clean | environment, capture_output=True, text=True, timeout=600, check=False)


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A folder with the wheel and the source archive, as `uv build` makes them."""
    folder = tmp_path_factory.mktemp("dist")
    done = run(UV, "build", "--quiet", f"--out-dir={folder}", ROOT)
    assert done.returncode == 0, done.stderr
    return folder


def _wheel(dist: pathlib.Path) -> pathlib.Path:
    (found,) = dist.glob("*.whl")
    return found


def test_the_wheel_holds_the_packages_their_data_the_licence_and_nothing_else(dist: pathlib.Path) -> None:
    """A table that is left out is found when a user first needs it."""
    names = {each for each in zipfile.ZipFile(_wheel(dist)).namelist() if not each.endswith("/")}
    files = {
        path.relative_to(package.parent).as_posix()
        for package in _PACKAGES
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    own = f"specdec_operator-{__version__}"
    assert files <= names
    assert f"{own}.dist-info/licenses/LICENSE" in names
    assert {each for each in names - files if not each.startswith((f"{own}.dist-info/", f"{own}.data/"))} == set()


def test_the_source_archive_holds_what_the_wheel_is_built_from_and_no_tests(dist: pathlib.Path) -> None:
    """No tests, no tools, and no file of another folder that happens to have a name of ours."""
    (found,) = dist.glob("*.tar.gz")
    with tarfile.open(found) as archive:
        tops = {each.partition("/")[2].partition("/")[0] for each in archive.getnames()}
    assert {"operator", "runtime", "crds", "LICENSE", "README.md"} <= tops
    assert not tops & {"tests", "hack", "docs", "manifests", "charts"}


@pytest.fixture(scope="module")
def installed(dist: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The programs of a fresh environment after `pip install 'specdec-operator[cli]'`."""
    home = tmp_path_factory.mktemp("fresh") / "venv"
    for argv in (
        [UV, "venv", "--quiet", f"--python={sys.executable}", home],
        [UV, "pip", "install", "--quiet", f"--python={home}", f"{_wheel(dist)}[cli]"],
    ):
        done = run(*argv)
        assert done.returncode == 0, done.stderr
    return home / "bin"


@pytest.mark.parametrize("program", ["specdec", "kubectl-specdec"])
def test_the_installed_programs_print_their_version_and_judge_a_sample(program: str, installed: pathlib.Path) -> None:
    """By both names, from any folder, with the tables that they carry."""
    assert run(installed / program, "--version").stdout == f"specdec {__version__}\n"
    judged = run(installed / program, "validate", _SAMPLE)
    assert judged.returncode == 0, judged.stdout + judged.stderr
    wrong = run("sh", "-c", f"sed 's/tokens: 3/tokens: 0/' {_SAMPLE} | {installed / program} validate")
    assert wrong.returncode == 1
    assert "spec.speculation.tokens" in wrong.stdout + wrong.stderr


def test_the_installed_command_looks_for_a_cluster_and_explains(
    installed: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    """The client of the API server came along, and so did the tables of the methods."""
    said = run(installed / "specdec", "doctor", "--kubeconfig", tmp_path / "none")
    assert (said.returncode, said.stdout) == (2, "")
    assert "no kubeconfig exists" in said.stderr
    assert run(installed / "specdec", "explain", "eagle3").returncode == 0


def test_the_installed_command_has_the_recordings_of_its_demo(installed: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """In a pipe it prints the whole story, and the page has its style."""
    told = run(installed / "specdec", "demo", "--page", tmp_path / "story.html")
    assert (told.returncode, told.stderr) == (0, "")
    assert "Responding" in told.stdout
    assert "--card:" in (tmp_path / "story.html").read_text()


def test_without_the_extra_the_command_names_what_is_missing(dist: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """`validate` needs none of it."""
    home = tmp_path / "venv"
    run(UV, "venv", "--quiet", f"--python={sys.executable}", home)
    done = run(UV, "pip", "install", "--quiet", f"--python={home}", _wheel(dist))
    assert done.returncode == 0, done.stderr
    assert run(home / "bin" / "specdec", "validate", _SAMPLE).returncode == 0
    said = run(home / "bin" / "specdec", "status")
    assert said.returncode == 1
    assert "install the extra `cli`; in a checkout, run pip install '.[cli]'" in said.stderr
