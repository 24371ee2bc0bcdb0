"""`specdec measure` on real parts: a real vLLM with a real draft next to its baseline, and in its own place."""

import asyncio
import json
import pathlib
import sys

import pytest

from tests.node.service import NAME, Service
from tests.node.test_story import DRAFT
from tests.wire.api import SIS, Object

_PROMPTS = 6


async def _measure(service: Service, config: pathlib.Path, folder: pathlib.Path, *more: str) -> Object:
    """Runs the command as a user does; returns its JSON."""
    prompts = folder / "few.jsonl"
    lines = [json.dumps({"prompt": service.prompt("code", number)}) for number in range(_PROMPTS)]
    prompts.write_text("\n".join(lines))
    words = ("measure", NAME, "-n", service.namespace, "--prompts", str(prompts), "--concurrency", "1")
    rest = ("--max-tokens", "64", "--output", str(folder), "--kubeconfig", str(config), *more)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "specdec_command.cli.main",
        *words,
        *rest,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    assert "tokens/s" in out.decode()
    found: Object = json.loads((folder / "measure.json").read_text())
    return found


@pytest.mark.parametrize("more", [(), ("--in-place",)])
async def test_both_sides_are_measured_and_everything_is_put_back(
    service: Service, cluster: pathlib.Path, tmp_path: pathlib.Path, more: tuple[str, ...]
) -> None:
    """The speculating side drafts, the baseline does not, all greedy answers are equal, and the copy is deleted."""
    await service.apply(DRAFT)
    await service.phase("Watching")
    found = await _measure(service, cluster, tmp_path, *more)
    (level,) = found["levels"]
    assert level["repeats"] == 5
    assert level["speculating"]["drafting"]["rate"] > 0.5
    assert level["plain"]["drafting"]["drafted"] == 0
    assert level["equal"] == {"same": 5 * _PROMPTS, "of": 5 * _PROMPTS, "share": 1}
    assert level["per_token"]["median"] > 0
    context = found["context"]
    assert context["plain"]["engine_version"].startswith("0.")
    assert [word for word in context["speculating"]["command"] if word not in context["plain"]["command"]] == [
        word for word in context["speculating"]["command"] if word.startswith("--speculative-config=")
    ]
    assert not [each for each in found["notes"] if "differ" in each or "Other clients" in each]
    assert (
        (tmp_path / "measure.md")
        .read_text()
        .startswith(f"# {service.namespace}/{NAME}: speculation compared with the baseline")
    )
    assert [each["metadata"]["name"] for each in await service.api.items(SIS, service.namespace)] == [NAME]
    assert (await service.status())["serving"]["speculating"] is True
    await service.phase("Watching")
