"""specdec_runtime.family: who was started by whom."""

import os
import pathlib
import subprocess
import sys

from specdec_runtime import family


def test_all_below_are_found_parents_first(tmp_path: pathlib.Path) -> None:
    """Names may hold blanks and brackets; processes of others, and files that are not processes, are left out."""
    parents = {10: (1, "sh"), 11: (10, "a (b) c"), 12: (10, "x"), 20: (12, "y"), 21: (20, "z"), 30: (1, "other")}
    for pid, (parent, name) in parents.items():
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "stat").write_text(f"{pid} ({name}) S {parent} 0 0")
    (tmp_path / "13").mkdir()
    (tmp_path / "14").mkdir()
    (tmp_path / "14" / "stat").write_text("")
    assert family.descendants(10, tmp_path) == [11, 12, 20, 21]
    assert family.descendants(21, tmp_path) == []


def test_a_real_child_and_its_child_are_found() -> None:
    script = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()'])"
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, start_new_session=True) as child:
        found: list[int] = []
        while len(found) < 2:
            found = family.descendants(child.pid)[:1]
            found = [child.pid, *found]
        assert set(found) <= set(family.descendants(os.getpid()))
        child.communicate(b"\n")
