"""`specdec tune` on real parts: the dial of a real vLLM with a real draft, turned round after round, and reset."""

import asyncio
import json
import pathlib
import sys

import yaml

from tests.node.service import NAME, Service
from tests.node.test_hangs import pods
from tests.node.test_story import DRAFT

_PROMPTS = 8


async def _tune(service: Service, config: pathlib.Path, folder: pathlib.Path) -> str:
    """Runs the command as a user does; returns its output."""
    prompts = folder / "few.jsonl"
    lines = [json.dumps({"prompt": service.prompt("code", number)}) for number in range(_PROMPTS)]
    prompts.write_text("\n".join(lines))
    words = ("tune", NAME, "-n", service.namespace, "--prompts", str(prompts), "--output", str(folder))
    load = ("--concurrency", "1,2", "--tokens", "0,2", "--repeats", "5", "--max-tokens", "48")
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "specdec_command.cli.main",
        *words,
        *load,
        "--kubeconfig",
        str(config),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, errors = await process.communicate()
    print(out.decode())
    assert process.returncode == 0, errors.decode()
    return out.decode()


async def test_each_number_is_drafted_in_turn_and_the_dial_is_reset(
    service: Service, cluster: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    """No pod restarts, all greedy answers are equal, and the proof has what the engine's own counters show."""
    await service.apply(DRAFT)
    await service.phase("Watching")
    before = {each["metadata"]["uid"] for each in await pods(service)}
    out = await _tune(service, cluster, tmp_path)
    proof = json.loads((tmp_path / "tune.json").read_text())
    assert len(proof["rounds"]) == 2 * 3 * 5
    for each in proof["rounds"]:
        done, tokens = each["drafting"], each["tokens"]
        assert (done["drafted"] == 0) is (tokens == 0), each
        assert done["drafted"] <= tokens * done["drafts"]
    for load in proof["loads"]:
        assert [each["tokens"] for each in load["tried"]] == [0, 2, 4]
        assert all(each["equal"]["share"] == 1 for each in load["tried"] if each["equal"])
        assert f"{load['tokens']} *" in out
    profile = json.loads((tmp_path / "speculation_profile.json").read_text())
    assert len(profile["marginal_accept_rates"]) == profile["num_speculative_tokens"] == 4
    assert [each["passed"] for each in profile["validation"].values()] == [True, True]
    assert (tmp_path / "patch.yaml").exists() is bool(proof["patch"])
    if proof["patch"]:
        assert yaml.safe_load((tmp_path / "patch.yaml").read_text()) == proof["patch"]
    assert {each["metadata"]["uid"] for each in await pods(service)} == before
    status = await service.status()
    assert (status["phase"], status["guard"]["rollbacks"]) == ("Watching", 0)
    await service.until("the dial reset", lambda: _reset(service), 30)


async def _reset(service: Service) -> bool:
    return "dial" not in await service.status()
