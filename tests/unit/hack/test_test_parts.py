"""Every test is in a part, a part names existing tests, and runs with little time begin with another part each time."""

import ast
import pathlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hack.test import budget, run
from hack.test.node import Node
from hack.test.parts import BESIDE, CORE, LONG, MORE, QUICK, REST, STORIES, UPGRADE, WIRE, Needs, Part

ROOT = run.ROOT


def chosen(part: Part) -> tuple[list[str], list[str]]:
    """The paths that a part runs, and those that it leaves out."""
    options = [each for each in part.words if each.startswith("--ignore=")]
    paths = [each for each in part.words if each.startswith(("tests/", "lab/"))]
    return paths, [each.removeprefix("--ignore=") for each in options]


def holds(part: Part, file: str) -> bool:
    """Whether a part runs a file of tests."""
    paths, ignored = chosen(part)
    return any(pathlib.PurePath(file).is_relative_to(each) for each in paths) and not any(
        pathlib.PurePath(file).is_relative_to(each) for each in ignored
    )


FILES = sorted(
    path.relative_to(ROOT).as_posix() for folder in ("tests", "lab") for path in (ROOT / folder).rglob("test_*.py")
)


@pytest.mark.parametrize("file", FILES)
def test_every_file_of_tests_is_in_one_part(file: str) -> None:
    """In none it would never run; in two it would run twice."""
    assert len([part.name for part in (*CORE, MORE, *REST) if holds(part, file)]) == 1, file


@pytest.mark.parametrize("story", [*STORIES, UPGRADE])
def test_a_story_is_a_test_that_is_there_and_runs_once(story: str) -> None:
    """A story that was renamed would be found missing only where a node runs."""
    file, name = story.split("::")
    tree = ast.parse((ROOT / file).read_text())
    assert name in {node.name for node in tree.body if isinstance(node, ast.AsyncFunctionDef | ast.FunctionDef)}
    assert [story in part.words for part in (*BESIDE, *QUICK)].count(True) == 1
    (rest,) = [part for part in REST if holds(part, file)]
    assert f"--deselect={story}" in rest.words


@pytest.mark.parametrize("part", LONG, ids=lambda part: part.name)
def test_a_long_part_names_a_file_that_is_there(part: Part) -> None:
    """Its path is its first word."""
    assert (ROOT / part.words[0]).is_file()


def test_each_part_is_first_once_in_as_many_runs_as_there_are_parts() -> None:
    """So none is left out for ever where time is short."""
    firsts = [budget.turned(REST, count)[0].name for count in range(len(REST))]
    assert sorted(firsts) == sorted(part.name for part in REST)
    assert set(budget.turned(REST, 7)) == set(REST)


@pytest.mark.parametrize(("spent", "limit", "begins"), [(0.0, None, True), (60.0, 80.0, True), (70.0, 80.0, False)])
def test_a_part_begins_only_where_its_usual_time_fits_with_a_margin(
    spent: float, limit: float | None, *, begins: bool
) -> None:
    """Ten minutes take up to fourteen on a loaded machine."""
    part = Part(name="ten minutes", proves="", words=(), minutes=10)
    assert budget.fits(part, spent, limit) is begins


def test_a_run_that_pytest_calls_failed_has_failed_though_no_test_did() -> None:
    """Such as one whose session ended with an error of a plugin."""
    report = '<testsuites><testsuite tests="3" failures="0" errors="0" skipped="1"/></testsuites>'
    assert run.counted(WIRE, 1.0, report, 0).failed == 0
    assert run.counted(WIRE, 1.0, report, 0).passed == 2
    assert run.counted(WIRE, 1.0, report, 0).broken == ()
    assert run.counted(WIRE, 1.0, report, 3).failed == 1


def test_a_part_whose_node_could_not_be_made_has_failed() -> None:
    """A run without its stories must not look like one that passed."""
    node = Node()
    node.made.append(run.Result(name="images", failed=1, lost="FAILED"))
    assert all(node.tests(part).failed == 1 for part in QUICK)


def test_an_operator_that_was_there_before_stays() -> None:
    """`make test` after `make demo`: a part that needs a cluster without an operator reports it, and does not fail."""
    node = Node()
    node.made.append(run.Result(name="local cluster", lost="ready"))
    node.had_operator = True
    (without,) = (part for part in BESIDE if part.needs is Needs.CLUSTER)
    left_out = node.tests(without)
    assert (left_out.failed, left_out.passed) == (0, 0)
    assert "make cluster-down" in left_out.outcome


def test_what_takes_too_long_is_ended_with_all_that_it_started(tmp_path: pathlib.Path) -> None:
    """A part that hangs must not keep the machine, and the table must be printed."""
    left = tmp_path / "left"
    script = f"(sleep 3; touch {left}) & sleep 60"
    assert run.call(("sh", "-c", script), 0.5) is None
    assert not left.exists()
    time.sleep(3.2)
    assert not left.exists()


def _part(folder: pathlib.Path, *tests: str) -> Part:
    """A part of its own, with a file of these tests."""
    file = folder / "test_slow.py"
    file.write_text("import pathlib, time\n" + "".join(f"def test_{n}(): {each}\n" for n, each in enumerate(tests)))
    return Part(name="slow", proves="", words=("-p", "no:cacheprovider", f"--rootdir={folder}", str(file)), minutes=1)


def test_a_part_that_runs_out_of_time_reports_the_tests_that_ended(tmp_path: pathlib.Path) -> None:
    """On a slow machine the time ends first: that is not a failure, but a test that failed until then is."""
    result = run.part_of_tests(_part(tmp_path, "assert True", "assert False", "time.sleep(90)"), 12.0)
    assert (result.passed, result.failed) == (1, 1)
    assert result.lost.endswith("the rest not run: the time is over")


def test_what_runs_in_other_threads_ends_with_the_run(
    tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C reaches one thread only: the others would run on for minutes. What they printed is shown all the same."""
    monkeypatch.setattr(run, "_STOPPED", threading.Event())
    begun = tmp_path / "begun"
    part = _part(tmp_path, "assert True", f"pathlib.Path({str(begun)!r}).touch(); time.sleep(90)")
    with ThreadPoolExecutor() as others:
        waiting = others.submit(run.part_of_tests, part, aside=True)
        while not begun.exists():
            assert not waiting.done()
            time.sleep(0.1)
        assert "1 passed" not in capfd.readouterr().out
        run.stop()
        assert waiting.result().failed == 1
    assert "1 passed" in capfd.readouterr().out
    assert run.part_of_tests(part).lost == "not run: stopped"
    assert run.prepared("a", "hack.no_such_module").lost == "not run: stopped"


def test_a_test_that_failed_is_named_with_its_error() -> None:
    """At the end of a run, where a log that was cut still has it."""
    report = """<testsuites><testsuite tests="2" failures="1" errors="0" skipped="0">
        <testcase classname="tests.wire.test_guard" name="test_it"><failure message="m">frame\n\nE   AssertionError: 1
        </failure></testcase><testcase classname="tests.wire.test_guard" name="test_that"/></testsuite></testsuites>"""
    (told,) = run.counted(WIRE, 1.0, report, 1).broken
    assert told.splitlines() == ["tests.wire.test_guard::test_it", "    frame", "    E   AssertionError: 1"]
