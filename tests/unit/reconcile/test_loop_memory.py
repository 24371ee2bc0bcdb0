"""The loop and engines that run out of memory as they start: less memory first, and what came up is kept."""

from typing import Any

import pytest
from tests.unit.bodies import crashed, make_pod, running, termination
from tests.unit.builders import Body
from tests.unit.stage import Stage, watching

LIMITED: dict[str, Any] = {"resources": {"limits": {"memory": "4Gi"}}}
NVIDIA: dict[str, Any] = {"engine": {"accelerator": "nvidia", "version": "0.33.0"}, "memory": {"device": "24Gi"}}
KILLED = crashed(137, times=1, reason="OOMKilled")


def memory_flags(stage: Stage) -> list[str]:
    """The memory flags of the engine in the InferenceService."""
    args = stage.args
    return [each for each in args if each.startswith(("--kv-cache", "--gpu-memory"))]


def guard(stage: Stage) -> Body:
    """What the guard has written."""
    kept: Body = stage.cluster.status["guard"]
    return kept


async def run_out(stage: Stage, *, seconds: float = 30.0) -> None:
    """The pods that are asked for now run out of memory as they start."""
    stage.roll_out(engine=KILLED)
    await stage.run(seconds)


async def test_each_step_is_shown_in_the_status_an_event_a_condition_and_the_history() -> None:
    """With the kubelet's message, and the flags of the next start."""
    stage = Stage(**LIMITED)
    await stage.turn()
    await run_out(stage)
    words = (
        "pod pod-1 ended 1 times, last with exit code 137 (OOMKilled); next start: --kv-cache-memory-bytes=858783744"
    )
    status = stage.cluster.status
    assert (status["phase"], status["reason"], status["message"]) == ("Responding", "OutOfMemory", words)
    assert [(each.reason, each.message) for each in stage.events if each.warning] == [("LoweringMemory", words)]
    rolled_back = stage.conditions()["RolledBack"]
    assert (rolled_back["status"], rolled_back["reason"], rolled_back["message"]) == ("False", "MemoryLowered", words)
    assert status["history"][0] | {"at": ""} == {
        "at": "",
        "state": "Responding",
        "reason": "OutOfMemory",
        "message": words,
    }
    assert status["memory"]["because"] == "KV cache of 1 GiB lowered to 819 MiB: the engine ran out of memory"


async def test_on_a_device_the_share_is_lowered_and_a_changed_memory_spec_starts_again() -> None:
    """By 0.05, from the planned value. The user's reserve of 4 % then replaces both: 0.92 less 0.04 is 0.88."""
    stage = Stage(**NVIDIA)
    await stage.turn()
    assert memory_flags(stage) == ["--gpu-memory-utilization=0.87"]
    await run_out(stage)
    assert memory_flags(stage) == ["--gpu-memory-utilization=0.82"]
    assert stage.cluster.status["memory"]["because"].endswith("then 0.87 lowered to 0.82: the engine ran out of memory")
    stage.sis |= {"memory": {"device": "24Gi", "draftReserve": "4%"}, "generation": 2}
    await stage.turn()
    assert (memory_flags(stage), "lowered" in guard(stage)) == (["--gpu-memory-utilization=0.88"], False)


@pytest.mark.parametrize(
    "sis", [{"guard": {"mode": "Observe"}}, {"annotations": {"specdec.io/hold": "on call"}}], ids=["Observe", "held"]
)
async def test_a_guard_that_may_not_act_only_reports_it(sis: dict[str, Any]) -> None:
    """Once, with the flag that it would have set."""
    stage = Stage(**LIMITED, **sis)
    await stage.turn()
    await run_out(stage, seconds=300)
    assert (memory_flags(stage), "lowered" in guard(stage)) == ([], False)
    would = guard(stage)["would"]
    assert (would["action"], would["reason"]) == ("LowerMemory", "OutOfMemory")
    assert would["message"].endswith("; next start: --kv-cache-memory-bytes=858783744")
    assert [each.reason for each in stage.events if each.warning] == ["WouldLowerMemory"]


async def test_an_engine_that_serves_and_runs_out_of_memory_gets_less_too() -> None:
    """One kill is enough: a later one would only cost more requests."""
    stage, _ = await watching(**LIMITED)
    (pod,) = stage.engines
    killed = running(1, termination(137, "OOMKilled")) | {"started": True}
    stage.note(pod, make_pod(pod, revision=stage.revision, ready=True, engine=killed))
    await stage.run(5)
    assert guard(stage)["lowered"]["steps"] == 1
    assert memory_flags(stage) == ["--kv-cache-memory-bytes=858783744"]
