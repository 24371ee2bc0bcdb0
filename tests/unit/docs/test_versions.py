"""The site of several versions: the pages of main and of each release, side by side."""

import io
import json
import pathlib
import tarfile

from hack.docs import versions


def archive(folder: pathlib.Path, version: str) -> None:
    with tarfile.open(folder / f"specdec-operator-docs-{version}.tar.gz", "w:gz") as packed:
        entry = tarfile.TarInfo("guard.html")
        content = f"guard of {version}".encode()
        entry.size = len(content)
        packed.addfile(entry, io.BytesIO(content))


def test_releases_are_ordered_by_their_numbers() -> None:
    assert versions.newest_first(["0.9.0", "0.10.0", "0.9.10"]) == ["0.10.0", "0.9.10", "0.9.0"]


def test_each_version_has_its_folder_and_the_newest_release_is_the_front(tmp_path: pathlib.Path) -> None:
    """Another file next to the archives is not a version."""
    main, archives, out = (tmp_path / name for name in ("main", "archives", "out"))
    for folder in (main, archives, out):
        folder.mkdir()
    (main / "guard.html").write_text("guard of main")
    (archives / "specdec-operator-samples-0.3.0.tar.gz").write_text("")
    for version in ("0.1.0", "0.2.0"):
        archive(archives, version)
    assert versions.assemble(main, archives, out) == ["0.2.0", "0.1.0", "main"]
    assert [(out / each / "guard.html").read_text() for each in ("main", "0.1.0", "0.2.0")] == [
        "guard of main",
        "guard of 0.1.0",
        "guard of 0.2.0",
    ]
    assert 'url=0.2.0/index.html"' in (out / "index.html").read_text()
    assert [each["aliases"] for each in json.loads((out / "versions.json").read_text())] == [["latest"], [], []]


def test_without_a_release_main_is_the_front(tmp_path: pathlib.Path) -> None:
    main, out = tmp_path / "main", tmp_path / "out"
    main.mkdir()
    out.mkdir()
    assert versions.assemble(main, tmp_path, out) == ["main"]
    assert 'url=main/index.html"' in (out / "index.html").read_text()
