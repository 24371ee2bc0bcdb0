"""Debian's packages are unpacked once, whole or not at all; a stand-in of apt-get brings them here."""

import pathlib
import shutil

import pytest
from hack.cluster.errors import ClusterError

from tests import debian

FILE = pathlib.Path("usr/bin/tool")
WANTED = debian.Wanted(packages=("tool",), file=FILE, absent="there is no tool", way_out="install one")
APT_STANDIN = """#!/bin/sh
echo "$*" >> {log}
case "$*" in
  *install*) echo "Inst tool (1)"; echo "Inst libtool (1)";;
  *download*) {download}
esac
"""
DPKG_STANDIN = '#!/bin/sh\nmkdir -p "$3/usr/bin" && cp "$2" "$3/usr/bin/$(basename "$2" .deb)"\n'
BRINGS = (
    "while [ $# -gt 0 ]; do [ $1 = download ] && break; shift; done; shift; for each; do echo it > $each.deb; done;;"
)


@pytest.fixture
def log(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """What apt-get was asked for, by a machine with no other programs than these."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for each in ("sh", "env", "mkdir", "cp", "basename"):
        (programs / each).symlink_to(str(shutil.which(each)))
    monkeypatch.setenv("PATH", str(programs))
    return tmp_path / "log"


def standin(log: pathlib.Path, download: str = BRINGS) -> None:
    for name, text in (("apt-get", APT_STANDIN.format(log=log, download=download)), ("dpkg-deb", DPKG_STANDIN)):
        program = log.parent / "bin" / name
        program.write_text(text)
        program.chmod(0o755)


def test_it_is_fetched_once_and_with_files_of_ones_own(log: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """The second caller finds it, and apt-get is not asked again."""
    standin(log)
    target = tmp_path / "cache" / "tool"

    def finish(tree: pathlib.Path) -> None:
        (tree / "own").touch()

    for _ in range(2):
        found = debian.unpack(target, WANTED, say=lambda _: None, finish=finish)
    assert (found, found.exists(), (target / "own").exists()) == (target / FILE, True, True)
    assert len(log.read_text().splitlines()) == 1
    assert sorted(each.name for each in target.parent.iterdir()) == ["tool", "tool.lock"]


def test_a_failed_download_is_reported_and_leaves_nothing(log: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """The lists are renewed once before it gives up."""
    standin(log, download="echo 'E: no such package' >&2; exit 100;;")
    with pytest.raises(ClusterError, match=r"cannot download tool here: install one \(E: no such package\)"):
        debian.unpack(tmp_path / "cache" / "tool", WANTED, say=lambda _: None)
    assert [line.split()[0] for line in log.read_text().splitlines()] == ["-qq", "update", "-qq"]
    assert not (tmp_path / "cache" / "tool" / FILE).exists()


def test_without_debians_programs_the_error_names_the_way_out(log: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with pytest.raises(ClusterError, match=r"there is no tool, and without apt-get and dpkg-deb .*: install one"):
        debian.unpack(tmp_path / "cache" / "tool", WANTED, say=lambda _: None)
    assert not log.exists()
