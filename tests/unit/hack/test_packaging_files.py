"""The files of a release's page: the archives of pages and samples."""

import io
import os
import pathlib
import tarfile

import pytest
from hack.packaging import plugin
from hack.packaging.__main__ import main


def test_an_archive_has_the_folders_files_and_nothing_of_this_machine(tmp_path: pathlib.Path) -> None:
    """The same files give the same bytes, for any user who packs them, at any time."""
    (tmp_path / "assets").mkdir()
    for name in ("index.html", "assets/site.css"):
        (tmp_path / name).write_text(name)
    first = plugin.packed(tmp_path)
    os.utime(tmp_path / "index.html", (1, 1))
    (tmp_path / "index.html").chmod(0o600)
    assert plugin.packed(tmp_path) == first
    with tarfile.open(fileobj=io.BytesIO(first)) as archive:
        assert archive.getnames() == ["assets/site.css", "index.html"]
        assert {(each.uid, each.mtime, each.mode) for each in archive} == {(0, 0, 0o644)}


@pytest.mark.parametrize("words", [["files"], ["files", "here"], ["files", "https://h", "linux_amd64"]])
def test_the_files_need_the_address_that_they_will_have(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert "python -m hack.packaging files BASE_URL" in capsys.readouterr().err
