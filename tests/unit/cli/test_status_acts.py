"""`specdec rollback`, `retry`, `status` and `watch`: what they come to, and trouble that needs no cluster."""

import asyncio
import pathlib
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
import typer
import yaml
from typer.testing import CliRunner

from specdec_command.cli import annotate, status
from specdec_command.cli.annotate import UserCommand
from specdec_command.cli.commands import application
from specdec_command.cli.connect import done
from specdec_command.cli.status import orphan
from specdec_operator.display.untrusted import Untrusted
from specdec_operator.errors import Unavailable

NONCE = "2026-11-20T12:00:00.000Z too slow"


def run(*words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(application(), [*words])
    return result.exit_code, result.stdout, result.stderr


def service(state: str = "Watching", *, speculating: bool = True, asks: bool = True, **guard: Any) -> Untrusted:
    annotations = {"specdec.io/rollback": NONCE, "specdec.io/retry": NONCE}
    spec = {"speculation": {"method": "eagle3", "tokens": 3}} if asks else {}
    serving = {"speculating": speculating}
    status = {"message": "m", "serving": serving, "guard": {"state": state, **guard}}
    return Untrusted({"metadata": {"annotations": annotations}, "spec": spec, "status": status})


def test_a_value_contains_the_time_and_the_reason_in_one_short_line() -> None:
    """It goes into an annotation, a status and a terminal."""
    assert annotate.nonce("T", "") == "T"
    assert annotate.nonce("T", " too\n slow\x1b[2J\x00 ") == "T too slow [2J"
    assert len(annotate.nonce("T", "x" * 1000)) == 102


@pytest.mark.parametrize(
    ("act", "now", "words"),
    [
        (UserCommand.ROLLBACK, service(), ""),
        (UserCommand.ROLLBACK, service("RolledBack", rollback={"reason": "x"}), ""),
        (UserCommand.ROLLBACK, service("Serving", asks=False), "requests no speculation"),
        (UserCommand.RETRY, service("RolledBack", rollback={"reason": "x"}), ""),
        (UserCommand.RETRY, service("Watching", reduced={"tokens": 1}), ""),
        (
            UserCommand.RETRY,
            service("Watching"),
            "the guard has not rolled back, reduced or dialled anything, so there is nothing to retry; "
            "the service is Watching",
        ),
        (UserCommand.RETRY, service("Stalled"), "the service is Stalled: fix the problem that its message names"),
        (UserCommand.RETRY, Untrusted({"spec": {"speculation": {"method": "mtp"}}}), ""),
    ],
)
def test_a_pointless_command_is_refused_at_once(act: UserCommand, now: Untrusted, words: str) -> None:
    """The user does not wait for something that cannot happen. If nothing is known, the operator decides."""
    assert words in annotate.pointless(act, now)
    assert bool(words) is bool(annotate.pointless(act, now))


@pytest.mark.parametrize(
    ("now", "good"),
    [
        (service("Watching"), None),
        (service("Watching", handledRollback="an older one"), None),
        (service("Responding", handledRollback=NONCE), None),
        (service("RolledBack", speculating=False, handledRollback=NONCE), True),
        (service("RolledBack", speculating=False, handledRollback="an older one"), None),
        (service("Serving", speculating=False, handledRollback=NONCE), True),
        (service("Watching", handledRollback=NONCE), False),
        (service("Stalled", speculating=False, handledRollback=NONCE), False),
        (Untrusted({}), False),
    ],
)
def test_a_rollback_is_done_when_the_service_runs_without_speculation(now: Untrusted, good: bool | None) -> None:
    """It fails if the service does not come up without speculation, or if another request replaced it."""
    ended = annotate.ended(UserCommand.ROLLBACK, now, NONCE)
    assert (ended.good if ended else None) is good


@pytest.mark.parametrize(
    ("now", "good"),
    [
        (service("RolledBack", rollback={"reason": "x"}), None),
        (service("RollingOut", handledRetry=NONCE), None),
        (service("WarmingUp", handledRetry=NONCE), None),
        (service("MeasuringBaseline", handledRetry=NONCE), None),
        (service("Watching", handledRetry=NONCE), True),
        (service("Serving", handledRetry=NONCE), True),
        (service("Responding", handledRetry=NONCE, rollback={"reason": "x"}), False),
        (service("Watching", handledRetry=NONCE, reduced={"tokens": 1}), False),
        (service("Stalled", handledRetry=NONCE), False),
    ],
)
def test_a_retry_is_done_when_the_speculation_is_watched(now: Untrusted, good: bool | None) -> None:
    """And it has failed when it was taken back once more."""
    ended = annotate.ended(UserCommand.RETRY, now, NONCE)
    assert (ended.good if ended else None) is good


@pytest.mark.parametrize(
    "words",
    [
        ["status", "Not_A_Name"],
        ["status", "a/b"],
        ["status", "llama", "-A"],
        ["status", "llama", "-n", "../kube-system"],
        ["watch"],
        ["rollback"],
        ["rollback", "llama", "--wait", "--timeout", "soon"],
        ["retry", "llama", "--wait", "--timeout", "10"],
        ["hold"],
    ],
)
def test_a_command_that_is_misspelt_ends_with_two(words: list[str]) -> None:
    """A usage error differs from a failure, before the command queries any cluster."""
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert "Error: " in err or "Invalid value" in err


KUBECONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "c",
    "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:9"}}],
    "users": [{"name": "u", "user": {"token": "t"}}],
}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "no kubeconfig exists at "),
        ("", "is not a kubeconfig"),
        ("a: [b", "cannot be used"),
        ("just text", "is not a kubeconfig"),
        ("[1, 2]", "is not a kubeconfig"),
        (yaml.safe_dump(KUBECONFIG | {"current-context": "gone"}), "cannot be used"),
        (yaml.safe_dump(KUBECONFIG | {"clusters": [{"name": "c", "cluster": None}]}), "cannot be used"),
        (yaml.safe_dump(KUBECONFIG), "https://127.0.0.1:9: the API server did not answer"),
    ],
)
@pytest.mark.parametrize("command", ["status", "rollback"])
def test_a_missing_way_to_a_cluster_is_an_error(
    command: str, content: str | None, words: str, tmp_path: pathlib.Path
) -> None:
    """The message names the file or the address, and has no traceback."""
    file = tmp_path / "kubeconfig"
    if content is not None:
        file.write_text(content)
    code, out, err = run(command, "llama", "--kubeconfig", str(file))
    assert (code, out) == (1, "")
    assert err.startswith("error: ")
    assert words in err
    assert words.startswith("https") or str(file) in err


def test_a_context_that_does_not_exist_is_named(tmp_path: pathlib.Path) -> None:
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(KUBECONFIG))
    code, _, err = run("status", "--kubeconfig", str(tmp_path / "kubeconfig"), "--context", "staging")
    assert code == 1
    assert "staging" in err


def test_a_service_that_no_operator_looks_at_is_trouble(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 1 and where to look; a new one is given its time."""
    now = datetime(2026, 11, 20, 12, tzinfo=UTC)
    assert orphan({"metadata": {"creationTimestamp": "2026-11-20T11:50:00Z"}}, now) == 1
    assert "no operator has handled it in 10m. Check that specdec-operator runs" in capsys.readouterr().err
    assert orphan({"metadata": {"creationTimestamp": "2026-11-20T11:59:50Z"}}, now) == 0
    assert orphan({"metadata": {"creationTimestamp": "2026-11-20T11:50:00Z"}, "status": {"phase": "x"}}, now) == 0
    assert capsys.readouterr().err == ""


async def test_a_watch_in_a_pipe_goes_on_while_the_api_server_is_away(capsys: pytest.CaptureFixture[str]) -> None:
    """Errors go to standard error, and an unchanged status is not printed again."""

    async def looks() -> AsyncIterator[tuple[dict[str, Any], str]]:
        for phase, trouble in (("RollingOut", ""), ("RollingOut", "away"), ("RollingOut", ""), ("Watching", "")):
            yield {"status": {"phase": phase}}, trouble

    await status._lines(looks())
    told = capsys.readouterr()
    assert [each.split()[1:] for each in told.out.splitlines()] == [["RollingOut"], ["Watching"]]
    assert told.err == "away\n"


async def _trouble() -> int:
    raise Unavailable("Reason", "what went wrong")


async def _interrupt() -> int:
    raise asyncio.CancelledError


async def _five() -> int:
    await asyncio.sleep(0)
    return 5


def test_each_end_of_a_command_has_its_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    """Its own code, 1 for an error, and 130 when the user interrupts it."""
    codes = []
    for work in (_five, _trouble, _interrupt):
        with pytest.raises(typer.Exit) as ended:
            done(work())
        codes.append(ended.value.exit_code)
    assert codes == [5, 1, 130]
    assert capsys.readouterr().err == "error: what went wrong\n"


def test_the_command_line_loads_no_kubernetes_before_it_needs_one() -> None:
    """`specdec explain` and its like stay quick."""
    commands = "from specdec_command.cli.commands import application; application()"
    program = f"import sys; {commands}; print({{'kubernetes', 'aiohttp'}} & {{*sys.modules}})"
    found = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert found.stdout == "set()\n"
