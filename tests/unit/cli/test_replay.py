"""`specdec replay`: the table, the JSON and the picture of a recording with two arms."""

import gzip
import json
import pathlib

import pytest
from typer.testing import CliRunner

from specdec_command.cli.commands import application

TRACES = pathlib.Path(__file__).parents[2] / "data" / "traces-traffic"
SLOWER = TRACES / "25-arm-much-slower.jsonl.gz"
COSTLY = TRACES / "28-arm-cache-hits-lost.jsonl.gz"
GUARD = """\
guard:
  warmup: 0s
  acceptanceRate: {min: 0.1}
  speedup: {min: 1.0}
  collateral: {timeToFirstToken: {maxRatio: 1.1}}
"""


@pytest.fixture
def guard(tmp_path: pathlib.Path) -> str:
    """A guard that asks for speed, and for the first token not much later."""
    file = tmp_path / "guard.yaml"
    file.write_text(GUARD)
    return str(file)


def replay(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(application("replay"), ["replay", *arguments])
    return result.exit_code, result.output


def test_a_draft_that_is_slower_than_baseline_pods_is_removed(guard: str) -> None:
    """The output shows the current evidence and its bound."""
    code, output = replay(str(SLOWER), "--guard", guard)
    assert code == 0
    assert "evidence" in output.splitlines()[0]
    assert "240 s: RollBack: speedup 0.3" in output
    assert "of 4.5)" in output


def test_each_decision_has_its_kind(guard: str) -> None:
    """A warning is not a rollback. The decision `acquit` changes nothing."""
    code, output = replay(str(COSTLY), "--guard", guard, "--json")
    assert code == 0
    told = [each for each in json.loads(output)["decisions"] if each["kind"]]
    assert [(each["kind"], each["action"], each["finding"]) for each in told] == [
        ("collateral", "Warn", "time-to-first-token"),
        ("acquit", None, None),
    ]
    measures = [each["measure"] for each in told[0]["findings"]]
    assert measures == ["time-per-output-token", "time-to-first-token"]
    code, output = replay(str(SLOWER), "--guard", guard, "--json")
    assert [each["kind"] for each in json.loads(output)["decisions"]] == [None, "rollback"]


def test_collateral_is_acted_on_where_that_is_asked_for(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "guard.yaml"
    file.write_text(GUARD.replace("maxRatio: 1.1}", "maxRatio: 1.1}, response: RollBack"))
    code, output = replay(str(COSTLY), "--guard", str(file), "--json")
    assert code == 0
    last = json.loads(output)["decisions"][-1]
    assert (last["kind"], last["action"], last["reason"]) == ("rollback", "RollBack", "Collateral")


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_it_is_drawn(guard: str, tmp_path: pathlib.Path, kind: str) -> None:
    picture = tmp_path / f"picture.{kind}"
    code, _ = replay(str(SLOWER), "--guard", guard, "--plot", str(picture))
    assert code == 0
    assert picture.stat().st_size > 10_000


@pytest.mark.parametrize(
    ("name", "words"),
    [("picture.gif", "a file that ends in .png, .svg, .pdf"), ("nowhere/picture.png", "it cannot be written")],
)
def test_an_impossible_plot_is_an_error(guard: str, tmp_path: pathlib.Path, name: str, words: str) -> None:
    code, output = replay(str(SLOWER), "--guard", guard, "--plot", str(tmp_path / name))
    assert code == 1
    assert words in output
    assert "Traceback" not in output


def test_pods_of_another_kind_are_refused(guard: str, tmp_path: pathlib.Path) -> None:
    trace = tmp_path / "trace.jsonl"
    trace.write_text(json.dumps({"t": 0, "pod": "a", "arm": "treatment", "ok": False, "text": ""}) + "\n")
    code, output = replay(str(trace), "--guard", guard)
    assert code == 1
    assert ":1" in output


def test_a_recording_shorter_than_a_window_is_reported(tmp_path: pathlib.Path) -> None:
    """The replay has no result, and the message shows the fix."""
    short = tmp_path / "short.jsonl"
    with gzip.open(TRACES / "25-arm-much-slower.jsonl.gz", "rt") as whole:
        short.write_text("".join(whole.readline() for _ in range(10)))
    code, output = replay(str(short))
    assert code == 0
    assert "shorter than a window of 120 s after a warmup of 60 s; record longer" in output
