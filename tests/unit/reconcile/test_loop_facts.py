"""The operator uses the facts that pods report about their models at the next rollout.
They replace no pod by themselves.
"""

import json
from typing import Any

import pytest
from tests.unit.bodies import ended
from tests.unit.engine import memory_models as models
from tests.unit.stage import Stage, busy, watching
from tests.wire.pods import told

GIB = 1024**3
FACTS = told(device=24 * GIB, target=(15 * GIB, models.LLAMA_8B), draft=(GIB, models.EAGLE3_8B))
SPECULATION = {"method": "eagle3", "tokens": 3, "draft": {"uri": "pvc://models/head"}}


async def told_of(facts: bytes | None = FACTS, **sis: Any) -> Stage:
    """A service that drafts, whose pods reported their facts."""
    stage, _ = await watching(speculation=SPECULATION, engine={"accelerator": "nvidia", "maxModelLen": 4096}, **sis)
    before = stage.revision
    stage.told_facts = facts
    stage.now += 700
    await stage.turn()
    await stage.turn()
    assert stage.revision == before
    return stage


async def test_facts_are_shown_at_once_and_change_no_flag() -> None:
    """Tokens, price and whether it fits are known; the flags stay those of an unknown device."""
    stage = await told_of()
    memory = stage.cluster.status["memory"]
    assert "--gpu-memory-utilization=0.87" in stage.args
    assert (memory["utilization"], memory["because"].partition(":")[0]) == (0.87, "0.92 lowered to 0.87")
    assert memory["kvTokensPredicted"] > 1000
    assert memory["kvPrice"].endswith("% KV blocks")
    assert memory["device"] == 24 * GIB
    facts = {each["role"]: each for each in stage.cluster.status["facts"]}
    assert {role: (each["bytes"], each["used"]) for role, each in facts.items()} == {
        "Target": (15 * GIB, False),
        "Draft": (GIB, False),
        "Device": (24 * GIB, False),
    }
    (fits,) = [each for each in stage.cluster.status["conditions"] if each["type"] == "MemoryFits"]
    assert fits["status"] == "True"


async def test_the_next_rollout_is_planned_with_it() -> None:
    """Whatever it is for; from then on the flags stay, also with an operator that was restarted."""
    stage = await told_of()
    stage.sis |= {"speculation": SPECULATION | {"tokens": 2}, "generation": 2}
    await stage.turn()
    await stage.turn()
    assert all(each["used"] for each in stage.cluster.status["facts"])
    assert "--gpu-memory-utilization=0.88" in stage.args, "a known device and target need less caution than 0.05"
    assert stage.cluster.status["memory"]["because"].startswith("0.92 lowered to 0.88: ")
    after = stage.revision
    stage.roll_out(busy(tokens=2))
    stage.restart()
    for _ in range(3):
        stage.now += 30
        await stage.turn()
    assert stage.revision == after


async def test_another_artifact_makes_its_facts_void() -> None:
    """The facts of the draft are dropped with the draft; those of the target stay."""
    stage = await told_of()
    stage.told_facts = None
    stage.sis |= {"speculation": SPECULATION | {"draft": {"uri": "pvc://models/other"}}, "generation": 2}
    await stage.turn()
    await stage.turn()
    assert {each["role"] for each in stage.cluster.status["facts"]} == {"Target", "Device"}


async def test_a_pod_is_asked_now_and_then() -> None:
    """Every ten minutes: how much is taken grows; one of another image is asked no more often."""
    for page in (FACTS, None):
        stage = await told_of(page)
        asked = stage.told
        stage.now += 300
        await stage.turn()
        assert stage.told == asked
        stage.now += 310
        await stage.turn()
        assert stage.told == asked + 1


async def test_the_used_memory_of_the_device_is_shown() -> None:
    """Of the pods that serve now."""
    stage = await told_of(told(device=24 * GIB, used=20 * GIB))
    assert 20 * GIB <= stage.cluster.status["memory"]["deviceUsed"] <= 20.3 * GIB


async def test_rules_are_checked_with_the_facts_and_refuse_nothing() -> None:
    """`specdec validate` would refuse a target without model_type; this one has started."""
    stage = await told_of()
    (fits,) = [each for each in stage.cluster.status["conditions"] if each["type"] == "Ready"]
    assert fits["status"] == "True"
    said = json.dumps(stage.cluster.status["conditions"])
    assert "no model_type" in said
    assert "DRAFT-ITSELF" not in said, "two artifacts, whose folders nobody told"
    stage.sis |= {"speculation": SPECULATION | {"tokens": 2}, "generation": 2}
    await stage.turn()
    assert stage.cluster.status["phase"] == "RollingOut"


async def test_an_invalid_report_is_ignored() -> None:
    """A tenant's pod may return anything."""
    for page in (b"", b"[]", b'{"models": {"target": 1}, "device": "much"}', b"\xff" * 9000):
        stage = await told_of(page)
        assert "facts" not in stage.cluster.status


MOVES = {"accelerator": "nvidia", "image": "registry.example/specdec-runtime:latest"}


def refusal(found: str, more: dict[str, Any] | None = None) -> Any:
    """A pod whose image has another engine than its flags are for, as preflight ends it."""
    said = {"reason": "EngineVersionDiffers", "field": "--model", "message": "engine: other", "found": found}
    return ended(78, message=json.dumps(said | (more or {})))


async def test_a_pod_that_found_another_engine_is_planned_again_at_once() -> None:
    """It refused flags that its engine does not know. The next pods get the flags of that engine, without a rollback.

    vLLM has --shutdown-timeout since 0.18.
    """
    stage = Stage(speculation=SPECULATION, engine=MOVES)
    await stage.turn()
    before = stage.revision
    assert any(each.startswith("--shutdown-timeout") for each in stage.args)
    stage.roll_out(engine=refusal("vllm 0.15.1"))
    await stage.turn()
    await stage.turn()
    assert stage.revision != before
    assert not any(each.startswith("--shutdown-timeout") for each in stage.args)
    assert {"name": "SPECDEC_ENGINE", "value": "vllm 0.15.1"} in stage.predictor["model"]["env"]
    (fact,) = stage.cluster.status["facts"]
    assert (fact["role"], fact["engine"], fact["used"]) == ("Engine", "vllm 0.15.1", True)
    assert "IMAGE-VERSION-FOUND" in json.dumps(stage.cluster.status["conditions"])
    assert stage.cluster.status["phase"] == "RollingOut"
    after = stage.revision
    stage.roll_out(busy(), busy())
    stage.restart()
    await stage.until("WarmingUp")
    assert stage.revision == after


@pytest.mark.parametrize(
    "said", [{"found": "vllm 0.33.0"}, {"found": "vllm-ascend 0.15.1"}, {"found": 3}, {"reason": "X"}]
)
async def test_an_engine_that_does_not_explain_a_refusal_changes_no_plan(said: dict[str, Any]) -> None:
    """A tenant's pod may end with any message, and a later engine would replace the earlier for ever."""
    stage = Stage(speculation=SPECULATION, engine=MOVES)
    await stage.turn()
    stage.roll_out(engine=refusal("vllm 0.15.1"))
    await stage.turn()
    await stage.turn()
    stage.roll_out(engine=refusal("vllm 0.14.0", said))
    await stage.until("Responding")
    assert {each["engine"] for each in stage.cluster.status["facts"]} == {"vllm 0.15.1"}
    assert not any(each.startswith("--shutdown-timeout") for each in stage.args)


async def test_the_engine_that_a_pod_reports_enters_the_next_plan() -> None:
    """Flags of running pods stay."""
    page = json.loads(FACTS) | {"engine": "vllm 0.15.1"}
    stage = Stage(speculation=SPECULATION, engine=MOVES)
    await stage.turn()
    stage.told_facts = json.dumps(page).encode()
    stage.roll_out(busy(), busy())
    await stage.until("Watching")
    stage.now += 700
    await stage.turn()
    facts = {each["role"]: each for each in stage.cluster.status["facts"]}
    assert (facts["Engine"]["engine"], facts["Engine"]["used"]) == ("vllm 0.15.1", False)
    assert any(each.startswith("--shutdown-timeout") for each in stage.args)
    stage.sis |= {"speculation": SPECULATION | {"tokens": 2}, "generation": 2}
    await stage.turn()
    await stage.turn()
    assert not any(each.startswith("--shutdown-timeout") for each in stage.args)


async def test_another_image_makes_its_engine_void() -> None:
    """What was found in one image shows nothing about another."""
    stage = Stage(speculation=SPECULATION, engine=MOVES)
    await stage.turn()
    stage.roll_out(engine=refusal("vllm 0.15.1"))
    await stage.turn()
    await stage.turn()
    stage.sis |= {"engine": MOVES | {"image": "registry.example/specdec-runtime:ours"}, "generation": 2}
    await stage.turn()
    await stage.turn()
    assert any(each.startswith("--shutdown-timeout") for each in stage.args)
    assert "facts" not in stage.cluster.status
