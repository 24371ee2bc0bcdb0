"""The command `specdec check`: its options, its exit codes, and what it prints."""

import json
from pathlib import Path

import pytest
import typer
from tests.hostile_http import answering, in_a_thread
from tests.unit.endpoint.engine_standin import engine, recorded
from typer.testing import CliRunner

from specdec_command.cli.check import check

APP = typer.Typer()
APP.command()(check)
RUNNER = CliRunner()


def run(*words: str) -> tuple[int, str, str]:
    said = RUNNER.invoke(APP, words)
    return said.exit_code, said.stdout, said.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["localhost:8000"], "must begin with http:// or https://"),
        (["http://[::1"], "must begin with http:// or https://"),
        (["http://user:pass@host"], "pass a token with --token-file"),
        (["http://host?key=1"], "must have no user, password or query"),
        (["http://host", "--for", "1s"], "--for 1s: must be from 2s to 1h"),
        (["http://host", "--for", "soon"], "--for 'soon' is not a duration"),
        (["http://host", "--timeout", "2h"], "--timeout 2h: must be from 0.1s to 1h"),
        (["http://host", "--token-file", "nowhere"], "--token-file nowhere: "),
        (["http://host", "--token-file", "empty"], "--token-file empty: is empty"),
        (["http://host", "--token-file", "two"], "--token-file two: must hold one token alone"),
        (["http://host", "--ca-file", "nowhere"], "--ca-file nowhere: "),
        (["https://host", "--ca-file", "two"], "--ca-file has no usable certificates"),
        (["http://127.0.0.1:9"], "http://127.0.0.1:9 could not be checked: no connection"),
    ],
)
def test_what_cannot_be_checked_is_one_sentence(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 2, with the option, the value and the rule."""
    monkeypatch.chdir(tmp_path)
    Path("empty").write_text("\n")
    Path("two").write_text("a\nb")
    code, _, errors = run(*words)
    assert code == 2
    assert message in errors


def test_a_healthy_engine_ends_with_0() -> None:
    """The address may be that of an API: people copy it so."""
    with in_a_thread(engine(recorded("01-code-steady"))) as port:
        code, out, _ = run(f"http://127.0.0.1:{port}/v1/", "--for", "2s")
    assert code == 0, out
    assert "speculation   on, K 4" in out
    assert out.endswith("nothing to fix, 0 to check\n")


def test_something_to_fix_ends_with_1_in_both_forms() -> None:
    """A finding has what, why and what to do."""
    answers = engine(recorded("13-no-speculation"), completions=answering(b"no", status=b"500 Internal Server Error"))
    with in_a_thread(answers) as port:
        code, out, _ = run(f"http://127.0.0.1:{port}", "--for", "2s")
        out = " ".join(out.split())
        assert code == 1
        assert "NotAnswering /v1/completions: HTTP 500: no: clients get no answer from this server either" in out
        assert "do: read the log of the engine" in out
        code, out, _ = run(f"http://127.0.0.1:{port}", "--for", "2s", "--no-generate", "-o", "json")
    assert code == 0
    found = json.loads(out)
    assert (found["speculating"], [each["id"] for each in found["findings"]]) == (False, ["NotSpeculating"])
