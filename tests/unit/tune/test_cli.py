"""The command `specdec tune`: what it refuses before its first request, and what it writes."""

import json
from pathlib import Path

import pytest
import typer
import yaml
from tests.unit.tune.samples import repeats, tuning
from typer.testing import CliRunner

from specdec_command.cli import tune as command
from specdec_command.tune.tuning import Tuning

APP = typer.Typer()
APP.command()(command.tune)
RUNNER = CliRunner()


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--concurrency", "1,a"], "--concurrency '1,a': must be whole numbers from 1"),
        (["--concurrency", "64"], "24 prompts are too few for 64 concurrent requests"),
        (["--tokens", "-1"], "--tokens '-1': must be whole numbers from 0"),
        (["--tokens", "two"], "--tokens 'two': must be whole numbers from 0"),
        (["--max-per-token", "40"], "--max-per-token '40' is not a duration"),
        (["--max-first-token", "soon"], "--max-first-token 'soon' is not a duration"),
        (["--repeats", "4"], "5"),
    ],
)
def test_a_wrong_option_is_an_error_before_anything_is_done(options: list[str], words: str) -> None:
    """Exit code 2, with the option, the value and the rule; no folder is left."""
    said = RUNNER.invoke(APP, ["llama", *options])
    assert said.exit_code == 2
    assert words in said.stderr
    assert [*Path().iterdir()] == []


def test_what_cannot_be_tuned_is_one_sentence() -> None:
    """Exit code 1, no traceback, no empty folder."""
    said = RUNNER.invoke(APP, ["llama", "--kubeconfig", "nowhere"])
    assert said.exit_code == 1
    assert said.stderr.startswith("error: no kubeconfig exists at nowhere")
    assert [*Path().iterdir()] == []


def _shown(monkeypatch: pytest.MonkeyPatch, found: Tuning) -> str:
    monkeypatch.setattr(command, "_tuned", lambda *_: found)
    said = RUNNER.invoke(APP, ["llama", "--output", "here"])
    assert said.exit_code == 0, said.output
    return " ".join(said.stdout.split())


def test_table_patch_proof_and_profile_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """The chosen number of each load has a star; the patch is for kubectl; the proof has every round."""
    fast = repeats(1, {0: 2.0, 2: 2.0, 4: 1.0})
    text = _shown(monkeypatch, tuning([*fast, *repeats(8, {0: 1.0, 2: 1.5, 4: 2.0})]))
    assert "With 1 request at once: 4 draft tokens: no other number is surely faster." in text
    assert "With 8 requests at once: no draft tokens: 2.00 times as fast as 4 (2.00 to 2.00)." in text
    assert "kubectl patch sis llama -n team-a --type merge --patch-file patch.yaml" in text
    assert "4 *" in text
    assert "0 *" in text
    patch = yaml.safe_load(Path("here/patch.yaml").read_text())
    assert patch == {"spec": {"speculation": {"tokensByBatchSize": [{"upTo": 1, "tokens": 4}, {"tokens": 0}]}}}
    proof = json.loads(Path("here/tune.json").read_text())
    assert (proof["patch"], len(proof["rounds"]), len(proof["loads"])) == (patch, 48, 2)
    assert proof["loads"][1]["tried"][0]["speed"]["median"] == 2
    assert json.loads(Path("here/speculation_profile.json").read_text())["num_speculative_tokens"] == 4


def test_nothing_to_change_writes_no_patch(monkeypatch: pytest.MonkeyPatch) -> None:
    """And a patch that takes speculation out is one."""
    assert "Nothing to change: 4 draft tokens" in _shown(monkeypatch, tuning(repeats(1, {0: 2.0, 4: 1.0})))
    assert not Path("here/patch.yaml").exists()
    assert "patch.yaml takes it out" in _shown(monkeypatch, tuning(repeats(1, {0: 1.0, 4: 2.0})))
    assert yaml.safe_load(Path("here/patch.yaml").read_text()) == {"spec": {"speculation": None}}
