"""The command `specdec measure`: what it refuses before its first request, and what it writes."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import typer
from tests.signals import heed_interrupts
from tests.unit.measure.standin import StandIn, service
from typer.testing import CliRunner

import specdec_operator
from specdec_command.cli.measure import measure

APP = typer.Typer()
APP.command()(measure)
RUNNER = CliRunner()


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--concurrency", "1,a"], "--concurrency '1,a': must be whole numbers from 1"),
        (["--concurrency", "0"], "--concurrency '0': must be whole numbers from 1"),
        (["--concurrency", "64"], "24 prompts are too few for 64 concurrent requests"),
        (["--room", "5"], "--room '5' is not a duration"),
        (["--prompts", "cod"], "built-in sets are code, chat"),
        (["--prompts", "bad.jsonl"], "--prompts bad.jsonl:2: '{}': must be"),
        (["--rate", "0"], "--rate '0': must be numbers from 0.01 to 1000"),
        (["--rate", "1,nan"], "--rate '1,nan': must be numbers from 0.01"),
        (["--rate", "fast"], "--rate 'fast': must be numbers"),
        (["--temperature", "3"], "equal to 2"),
        (["--top-p", "0"], "0"),
        (["--repeats", "4"], "5"),
        (["--output", "bad.jsonl"], "--output bad.jsonl"),
    ],
)
def test_a_wrong_option_is_an_error_before_anything_is_done(options: list[str], words: str) -> None:
    """Exit code 2, with the option, the value and the rule; no folder is left."""
    Path("bad.jsonl").write_text('{"prompt": "a"}\n{}\n')
    said = RUNNER.invoke(APP, ["llama", *options])
    assert said.exit_code == 2
    assert words in said.stderr
    assert [each.name for each in Path().iterdir()] == ["bad.jsonl"]


def test_what_cannot_be_measured_is_one_sentence() -> None:
    """Exit code 1, no traceback, no empty folder."""
    said = RUNNER.invoke(APP, ["llama", "--kubeconfig", "nowhere"])
    assert said.exit_code == 1
    assert said.stderr.startswith("error: no kubeconfig exists at nowhere")
    assert [*Path().iterdir()] == []


@asynccontextmanager
async def specdec(folder: Path, *options: str) -> AsyncIterator[asyncio.subprocess.Process]:
    words = (sys.executable, "-m", "specdec_command.cli.main", "measure", "llama", *options)
    environment = os.environ | {"PYTHONPATH": str(Path(specdec_operator.__file__).parents[2])}
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *words, cwd=folder, env=environment, stdout=pipe, stderr=pipe, preexec_fn=heed_interrupts
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def test_the_report_is_written_and_shown(tmp_path: Path) -> None:
    """Both files in a folder by name and time, so that no earlier report is written over; the table; where they are."""
    world = StandIn(services={"llama": service()})
    (tmp_path / "two.jsonl").write_text('{"prompt": "a"}\n{"prompt": "b"}\n')
    async with world.running():
        config = world.kubeconfig(tmp_path)
        options = ("--prompts", "two.jsonl", "--concurrency", "1,2", "--kubeconfig", config)
        async with specdec(tmp_path, *options) as process:
            out, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    (folder,) = [each for each in tmp_path.iterdir() if each.is_dir()]
    assert folder.name.startswith("measure-llama-20")
    assert (folder / "measure.md").read_text().startswith("# team-a/llama: speculation compared with the baseline")
    found = json.loads((folder / "measure.json").read_text())
    assert [each["concurrency"] for each in found["levels"]] == [1, 2]
    assert found["order"] | {"digest": ""} == {
        "source": "two.jsonl",
        "prompts": 2,
        "digest": "",
        "concurrencies": [1, 2],
        "repeats": 5,
        "max_tokens": 128,
        "in_place": False,
        "rates": [],
        "sampling": {"greedy": True, "temperature": None, "top_p": None},
    }
    assert "tokens/s" in out.decode()
    assert f"written: {folder.name}/measure.md" in out.decode()
    assert "1 at once, repeat 5 of 5, plain: " in errors.decode()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_ends_it_with_everything_put_back(tmp_path: Path, number: signal.Signals) -> None:
    """Exit code 130, the twin gone, no folder, no traceback."""
    world = StandIn(services={"llama": service()})
    async with world.running():
        options = ("--prompts", "code", "--concurrency", "1", "--kubeconfig", world.kubeconfig(tmp_path))
        async with specdec(tmp_path, *options) as process:
            while len(world.requests) < 10:
                assert process.returncode is None
                await asyncio.sleep(0.01)
            process.send_signal(number)
            _, errors = await process.communicate()
    assert process.returncode == 130
    assert [*world.services] == ["llama"]
    assert errors.decode().splitlines()[-2:] == ["llama-plain: removed", "error: stopped; there is no report"]
    assert [each.name for each in tmp_path.iterdir()] == ["kubeconfig"]
