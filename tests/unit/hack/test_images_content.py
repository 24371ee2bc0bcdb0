"""hack.images: what an image is named by, and what it installs."""

import json
from pathlib import Path

import pytest
from hack.images import build, content, locked
from hack.kserve import objects
from hack.kserve.versions import SUMS

SOURCES = content.Sources(files=("Dockerfile",), folders=("package",))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "Dockerfile").write_text("FROM x\n")
    (tmp_path / "package" / "inner").mkdir(parents=True)
    (tmp_path / "package" / "inner" / "a.py").write_text("1\n")
    return tmp_path


def test_the_name_follows_every_byte_and_every_name(tree: Path) -> None:
    names = [content.digest(SOURCES, tree)]
    (tree / "package" / "inner" / "a.py").write_text("2\n")
    names.append(content.digest(SOURCES, tree))
    (tree / "package" / "inner" / "a.py").rename(tree / "package" / "b.py")
    names.append(content.digest(SOURCES, tree))
    names.append(content.digest(SOURCES, tree, more="version 2"))
    assert len(set(names)) == 4


def test_what_python_leaves_behind_does_not_change_the_name(tree: Path) -> None:
    before = content.digest(SOURCES, tree)
    (tree / "package" / "__pycache__").mkdir()
    (tree / "package" / "__pycache__" / "a.cpython-311.pyc").write_bytes(b"x")
    assert content.digest(SOURCES, tree) == before


def test_a_byte_moved_between_files_changes_the_name(tree: Path) -> None:
    (tree / "package" / "b.py").write_text("xy")
    (tree / "package" / "c.py").write_text("z")
    before = content.digest(SOURCES, tree)
    (tree / "package" / "b.py").write_text("x")
    (tree / "package" / "c.py").write_text("yz")
    assert content.digest(SOURCES, tree) != before


def test_every_source_of_the_images_is_there() -> None:
    """A file that was renamed would else silently stop to count."""
    more = (*content.ACCELERATED.values(), *content.INITIALIZERS.values())
    for sources in (content.OPERATOR, content.RUNTIME, *more, content.S3):
        assert all(path.is_file() for path in content.paths(sources))
        assert all((content.ROOT / folder).is_dir() for folder in sources.folders)


def test_what_the_tests_images_install_is_resolved_again_only_for_another_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So `make verify` needs no network, and no release of another project breaks it."""
    assert locked.stale() == []
    (tmp_path / "s3.txt").write_text(locked.path("s3").read_text().replace("moto[s3]==", "moto[s3]==0.", 1))
    (tmp_path / "sbom.txt").write_text(locked.path("sbom").read_text() + "another==1\n")
    monkeypatch.setattr(locked, "path", lambda image: tmp_path / f"{image}.txt")
    assert locked._is_stale("s3")
    assert not locked._is_stale("sbom")


@pytest.mark.parametrize("version", SUMS)
def test_the_download_container_goes_by_kserves_name_on_the_node(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ConfigMap of the local KServe has one name for each version, whatever the image is made of."""
    monkeypatch.setenv("SPECDEC_CACHE", str(tmp_path))  # where no cluster is up, the wanted version counts
    monkeypatch.setenv("KSERVE", version)
    product = build.product("initializer")
    told = objects.configured({"deploy": "{}", "ingress": "{}", "storageInitializer": "{}"}, version)
    assert product.alias == json.loads(told["storageInitializer"])["image"]
    assert product.arguments == {"KSERVE": version}
    assert f"kserve-storage=={version} " in locked.path(f"storage-{version}").read_text()
    assert build.product("operator").alias is None
