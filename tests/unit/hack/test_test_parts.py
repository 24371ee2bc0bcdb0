"""Every test is in a part, a part names existing tests, and runs with little time begin with another part each time."""

import ast
import pathlib
import subprocess
import time

import pytest
from hack.test import __main__ as command
from hack.test import budget, run
from hack.test.node import SharedCluster
from hack.test.parts import ALL, QUICK, REST, STAGED, STORIES, UPGRADE, WIRE, LanePlan, PartNeeds, SuitePart

ROOT = run.ROOT
_LIMIT = 3600.0


def chosen(part: SuitePart) -> tuple[list[str], list[str]]:
    """The paths that a part runs, and those that it leaves out."""
    options = [each for each in part.words if each.startswith("--ignore=")]
    paths = [each for each in part.words if each.startswith(("tests/", "lab/"))]
    return paths, [each.removeprefix("--ignore=") for each in options]


def holds(part: SuitePart, file: str) -> bool:
    """Whether a part runs a file of tests."""
    paths, ignored = chosen(part)
    return any(pathlib.PurePath(file).is_relative_to(each) for each in paths) and not any(
        pathlib.PurePath(file).is_relative_to(each) for each in ignored
    )


FILES = sorted(
    path.relative_to(ROOT).as_posix() for folder in ("tests", "lab") for path in (ROOT / folder).rglob("test_*.py")
)


ALONE, SHARED = (
    [part for part in ALL.parts if words in " ".join(part.words)] for words in ("-m alone", "-m not alone")
)
"""Parts that share a folder: a mark decides which of them runs a test."""


def test_every_file_of_tests_is_in_one_part() -> None:
    """In none it would never run; in two it would run twice."""
    for file in FILES:
        holding = [part for part in ALL.parts if holds(part, file)]
        assert len([part for part in holding if part not in ALONE]) == 1, file
        assert [part for part in holding if part in ALONE] == ALONE * any(part in holding for part in SHARED), file


def test_what_measures_runs_alone() -> None:
    """One part after all others has the mark, and what others run of the same folder leaves it out."""
    assert len(ALONE) == 1
    assert SHARED
    assert ALONE[0] in ALL.alone
    assert not set(SHARED) & set(ALL.alone)


@pytest.mark.parametrize("plan", [QUICK, ALL], ids=["quick", "all"])
def test_the_cluster_is_changed_by_one_lane_and_made_once(plan: LanePlan) -> None:
    """Two lanes would take the operator from each other; an operator goes with its cluster only."""
    needs = [
        [part.needs for part in lane if part.needs in (PartNeeds.CLUSTER, PartNeeds.OPERATOR)] for lane in plan.lanes
    ]
    (on_cluster,) = [lane for lane in needs if lane]
    assert on_cluster == sorted(on_cluster, key=list(PartNeeds).index)
    assert PartNeeds.CLUSTER not in [part.needs for part in plan.alone]


@pytest.mark.parametrize("story", [*STORIES, STAGED, UPGRADE])
def test_a_story_is_a_test_that_is_there_and_runs_once(story: str) -> None:
    """A story that was renamed would be found missing only where a node runs."""
    file, name = story.split("::")
    tree = ast.parse((ROOT / file).read_text())
    assert name in {node.name for node in tree.body if isinstance(node, ast.AsyncFunctionDef | ast.FunctionDef)}
    assert [story in part.words for part in QUICK.parts].count(True) == 1


def test_what_the_quick_run_leaves_out_is_in_the_rest_and_first_there_once() -> None:
    """In as many runs as there are parts, each is the first one, so none is left out for ever where time is short."""
    assert {part.name for part in (*QUICK.lanes[0], *QUICK.lanes[1], *REST)} == {part.name for part in ALL.parts}
    firsts = [budget.turned(REST, count)[0].name for count in range(len(REST))]
    assert sorted(firsts) == sorted(part.name for part in REST)
    assert set(budget.turned(REST, 7)) == set(REST)


@pytest.mark.parametrize(("spent", "limit", "begins"), [(0.0, None, True), (60.0, 80.0, True), (70.0, 80.0, False)])
def test_a_part_begins_only_where_its_usual_time_fits_with_a_margin(
    spent: float, limit: float | None, *, begins: bool
) -> None:
    """Ten minutes take up to fourteen on a loaded machine."""
    part = SuitePart(name="ten minutes", proves="", words=(), minutes=10)
    assert budget.fits(part, spent, limit) is begins


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such a pytest loads no plugin that is only installed: most of its time otherwise."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


@pytest.mark.usefixtures("bare")
def test_a_part_that_runs_out_of_time_reports_the_tests_that_ended(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a slow machine the time ends first: that is not a failure, but a test that failed until then is."""
    third, wait = tmp_path / "third", subprocess.Popen.wait

    def over(process: "subprocess.Popen[bytes]", timeout: float | None = None) -> int:
        """The limit is over when the third test has begun, however long that takes."""
        while timeout == _LIMIT and process.poll() is None:
            if third.exists():
                raise subprocess.TimeoutExpired(process.args, timeout)
            time.sleep(0.05)
        return wait(process, timeout)

    monkeypatch.setattr(subprocess.Popen, "wait", over)
    begins = f"pathlib.Path('{third}').touch(); time.sleep(90)"
    result = run.part_of_tests(_part(tmp_path, "assert True", "assert False", begins), _LIMIT)
    assert (result.passed, result.failed) == (1, 1)
    assert result.lost.endswith("the rest not run: the time is over")


def test_a_run_that_pytest_calls_failed_has_failed_though_no_test_did() -> None:
    """Such as one whose session ended with an error of a plugin."""
    report = '<testsuites><testsuite tests="3" failures="0" errors="0" skipped="1"/></testsuites>'
    assert run.counted(WIRE, 1.0, report, 0).failed == 0
    assert run.counted(WIRE, 1.0, report, 0).passed == 2
    assert run.counted(WIRE, 1.0, report, 0).broken == ()
    assert run.counted(WIRE, 1.0, report, 3).failed == 1


def _prepared(result: run.PartResult) -> SharedCluster:
    """A node whose preparations ended so, without any."""
    node = SharedCluster()
    node.made.append(result)
    node._prepared.set()
    return node


def test_a_part_whose_node_could_not_be_made_has_failed() -> None:
    """A run without its stories must not look like one that passed."""
    node = _prepared(run.PartResult(name="images", failed=1, lost="FAILED"))
    on_it = [part for part in ALL.parts if part.needs is not PartNeeds.NOTHING]
    assert len(on_it) >= 4
    assert all(node.tests(part).failed == 1 for part in on_it)


def test_an_operator_that_was_there_before_stays() -> None:
    """`make test` after `make demo`: a part that needs a cluster without an operator reports it, and does not fail."""
    node = _prepared(run.PartResult(name="local cluster", lost="ready"))
    node.had_operator = True
    (without,) = (part for part in QUICK.parts if part.needs is PartNeeds.CLUSTER)
    left_out = node.tests(without)
    assert (left_out.failed, left_out.passed) == (0, 0)
    assert "make cluster-down" in left_out.outcome


def _part(folder: pathlib.Path, *tests: str) -> SuitePart:
    """A part of its own, with a file of these tests."""
    folder.mkdir(exist_ok=True)
    file = folder / "test_slow.py"
    file.write_text("import pathlib, time\n" + "".join(f"def test_{n}(): {each}\n" for n, each in enumerate(tests)))
    return SuitePart(
        name="slow", proves="", words=("-p", "no:cacheprovider", f"--rootdir={folder}", str(file)), minutes=1
    )


@pytest.mark.usefixtures("bare")
def test_lanes_run_side_by_side_and_what_runs_alone_runs_after_them(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of two lanes waits for the other one; the last part wants both to have ended."""
    monkeypatch.setattr(command, "why_none", lambda: "not run: no node")
    wait = (
        "pathlib.Path('{mine}').touch(); list(iter(lambda: time.sleep(0.1) or pathlib.Path('{other}').exists(), True))"
    )
    one, two = tmp_path / "one", tmp_path / "two"
    lanes = (
        (_part(tmp_path / "a", wait.format(mine=one, other=two)),),
        (_part(tmp_path / "b", wait.format(mine=two, other=one)),),
    )
    after = _part(tmp_path / "c", f"assert pathlib.Path('{one}').exists() and pathlib.Path('{two}').exists()")
    needs_a_node = SuitePart(name="node", proves="", words=(), minutes=1, needs=PartNeeds.OPERATOR)
    results = command._results(LanePlan(lanes=lanes, alone=(after, needs_a_node)))
    assert [each.outcome for each in results] == [*(["1 passed, 0 failed, 0 skipped"] * 3), "not run: no node"]
