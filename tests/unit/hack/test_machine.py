"""Commit, date and machine of measured numbers."""

import pathlib
import subprocess

import pytest
from hack import machine

FOUND = {
    "commit": "1234567",
    "at": "2026-01-02",
    "cores": 2,
    "memory_gib": 16.0,
    "cpu": "A",
    "kernel": "6",
    "python": "3",
}


@pytest.fixture
def checkout(tmp_path: pathlib.Path) -> pathlib.Path:
    """A repository of one commit with code and a page."""
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


def test_the_sentence_names_date_commit_and_machine() -> None:
    """Of a file that has them."""
    assert machine.sentence({"origin": FOUND}) == (
        "Measured on 2026-01-02 at commit 1234567: A, 2 cores, 16.0 GiB, Linux 6, Python 3."
    )
    assert "commit 1234567: H100; A, 2 cores" in machine.sentence({"origin": FOUND | {"device": "H100"}})
    assert set(machine.origin()) == set(FOUND)


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
    """No fact of it is lost on its page."""
    assert machine.sentence(found) == sentence
