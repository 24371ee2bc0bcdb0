"""Commit, date and machine of measured numbers."""

import pathlib
import subprocess

import pytest
from hack import machine


@pytest.fixture
def checkout(tmp_path: pathlib.Path) -> pathlib.Path:
    for name in ("code.py", "docs/page.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("one")
    who = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    for words in (("init", "-q"), ("add", "."), (*who, "commit", "-qm", "one")):
        subprocess.run(["git", "-C", tmp_path, *words], check=True)
    return tmp_path


def test_a_commit_is_dirty_if_its_code_changed_and_not_if_a_benchmark_wrote_numbers(checkout: pathlib.Path) -> None:
    """Numbers lie in docs/, and the README shows some."""
    (checkout / "docs" / "numbers.json").write_text("{}")
    (checkout / "docs" / "page.md").write_text("two")
    (checkout / "README.md").write_text("two")
    clean = machine.commit(checkout)
    assert len(clean) == 7
    (checkout / "code.py").write_text("two")
    assert machine.commit(checkout) == f"{clean}-dirty"


def test_a_folder_that_is_not_a_checkout_has_no_commit(tmp_path: pathlib.Path) -> None:
    """A release is unpacked without one."""
    assert machine.commit(tmp_path) == "unknown"


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        ({}, "Date and commit were not recorded."),
        ({"at": "2026-01-02"}, "Measured on 2026-01-02; the commit was not recorded."),
        ({"machine": "A"}, "Date and commit were not recorded. Machine: A."),
        (
            {"machine": {"cores": 2, "memory_gib": 16.0, "cpu": "A"}},
            "Date and commit were not recorded. Machine: A, 2 cores, 16.0 GiB.",
        ),
    ],
)
def test_an_old_file_keeps_what_it_has_and_shows_what_it_lacks(found: dict[str, object], sentence: str) -> None:
    assert machine.sentence(found) == sentence
