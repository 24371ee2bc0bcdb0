"""Out of memory is answered by less memory, twice, before anything else is; and what came up is kept."""

from typing import Any

import pytest
from tests.unit.builders import (
    LOW,
    PASSED,
    make_failure,
    make_good,
    make_lowering,
    make_reduction,
    make_rollback,
    make_state,
    view,
)
from tests.unit.guard.films import Frame, strip
from tests.unit.guard.test_user_intent import asked

from specdec_operator.api.guard import GuardMode
from specdec_operator.guard.memory import MOST_STEPS
from specdec_operator.guard.state import Phase, State
from specdec_operator.guard.user_intent import follow_user
from specdec_operator.observe.rollout import Progress

OUT, WARM, WATCH = Phase.ROLLING_OUT, Phase.WARMING_UP, Phase.WATCHING
RESPOND, BACK, STALLED = Phase.RESPONDING, Phase.ROLLED_BACK, Phase.STALLED
LESS: Frame = {"less": "--gpu-memory-utilization=0.87"}
WORDS = "pod p ended 1 times, last with exit code 137 (OOMKilled)"
DRY: Frame = LESS | {"rollout": view(Progress.PROGRESSING, "RollingOut", out_of_memory=WORDS)}
"""A start runs out of memory, and less of it can be asked for."""
NOTHING_LEFT: Frame = DRY | {"less": ""}


def stands(state: State) -> tuple[Phase, str, int]:
    """The phase and the subject of a state, and by how many steps its memory is lowered."""
    return state.phase, state.subject, state.lowered


def killed(ends: int = 1, at: float = 1.0, **changes: Any) -> Frame:
    """The engine of the watched pod was killed for its memory."""
    return LESS | {"pod_failures": (make_failure("a", ends, at),), "pods": frozenset({"a"})} | changes


def test_a_start_that_runs_out_of_memory_comes_up_with_less() -> None:
    """At its first end, and not at its third; what came up is watched, and stays so."""
    films: list[tuple[float, Frame, tuple[Phase, str, int]]] = [
        (10, DRY, (RESPOND, "s1-1", 1)),
        (11, LESS | {"rollout": view(Progress.PROGRESSING, "RollingOut")}, (RESPOND, "s1-1", 1)),
        (20, DRY, (RESPOND, "s1-2", 2)),
        (30, LESS | {"revision": "r3"}, (WARM, "s1-2", 2)),
        (34, {"revision": "r3"}, (WATCH, "s1-2", 2)),
        (40, {"revision": "r3", "verdict": PASSED}, (WATCH, "s1-2", 2)),
    ]
    states = strip(make_state(OUT), *((at, frame) for at, frame, _ in films))
    assert [stands(each) for each in states] == [expected for *_, expected in films]
    lowering = states[-1].lowering
    assert lowering is not None
    assert (lowering.reason, lowering.at, states[-1].rollbacks) == ("OutOfMemory", 20, 0)
    assert lowering.message == f"{WORDS}; next start: --gpu-memory-utilization=0.87"


def test_after_two_steps_the_guard_rolls_back() -> None:
    """The third start that runs out of memory causes a rollback at once. The service without
    speculation has its full share.
    """
    *_, last = strip(make_state(OUT), (10, DRY), (20, DRY), (30, DRY))
    assert stands(last) == (RESPOND, "plain", 0)
    assert last.rollback is not None
    assert (last.rollback.reason, last.rollback.message, last.rollback.pending) == ("OutOfMemory", WORDS, True)


def test_after_two_steps_the_guard_returns_to_the_last_good_speculation_with_the_memory_that_it_had() -> None:
    """A speculation that was good with less memory than planned has that amount again, and no less."""
    good = make_good(lowered=1)
    *_, back, out = strip(make_state(OUT, last_good=(good,)), (10, DRY), (20, DRY), (30, DRY), (40, DRY))
    assert stands(back) == (RESPOND, "good:d2", 1)
    assert stands(out) == (RESPOND, "good:d2", 1), "three ends decide about it, as about any other"


def test_where_nothing_can_be_lowered_three_ends_decide() -> None:
    """The models need all that they have: another start would be the same one."""
    waiting, out = strip(
        make_state(OUT),
        (10, NOTHING_LEFT),
        (20, {"rollout": view(Progress.FAILED, "OutOfMemory", message=WORDS, out_of_memory=WORDS)}),
    )
    assert stands(waiting) == (OUT, "s1", 0)
    assert out.rollback is not None
    assert (out.rollback.reason, out.rollback.message) == ("RolloutFailed", f"OutOfMemory: {WORDS}")


def test_fewer_tokens_that_run_out_of_memory_have_less_as_well() -> None:
    """The state keeps both decisions; the newer one is shown."""
    (state,) = strip(make_state(RESPOND, reduced=make_reduction(at=1.0)), (10, DRY))
    assert stands(state) == (RESPOND, "s1:2-1", 1)
    assert state.decision == state.lowering
    assert make_state(reduced=make_reduction(at=9.0), lowering=make_lowering(at=8.0)).decision != state.lowering


@pytest.mark.parametrize("frame", [{"mode": GuardMode.OBSERVE}, {"held": True}], ids=["Observe", "held"])
def test_a_guard_that_may_not_act_shows_what_it_would_do(frame: Frame) -> None:
    """Once, however often the start fails, and nothing is changed."""
    told, again = strip(make_state(OUT), (10, DRY | frame), (20, DRY | frame))
    assert stands(told) == (OUT, "s1", 0)
    assert told.dry_run is not None
    assert (told.dry_run.action, told.dry_run.reason) == ("LowerMemory", "OutOfMemory")
    assert again == told
    (serving,) = strip(make_state(WATCH), (1, killed() | frame))
    assert serving.dry_run is not None
    assert (stands(serving), serving.dry_run.action) == ((WATCH, "s1", 0), "LowerMemory")


def test_a_guard_that_is_off_shows_nothing() -> None:
    """The kubelet starts the engine again and again."""
    (state,) = strip(make_state(OUT), (10, DRY | {"mode": GuardMode.OFF}))
    assert (stands(state), state.dry_run) == ((OUT, "s1", 0), None)


@pytest.mark.parametrize("phase", [WARM, WATCH])
def test_out_of_memory_while_serving_lowers_it_at_the_next_start(phase: Phase) -> None:
    """The first kill does; after two steps three failures within an hour decide, as before."""
    films: list[tuple[float, Frame, tuple[Phase, str, int]]] = [
        (1, killed(), (RESPOND, "s1-1", 1)),
        (2, {"revision": "r2"}, (WARM, "s1-1", 1)),
        (10, killed(1, 10, revision="r2"), (RESPOND, "s1-2", 2)),
        (11, {"revision": "r3"}, (WARM, "s1-2", 2)),
        (20, killed(1, 20, revision="r3"), (WATCH, "s1-2", 2)),
        (21, killed(2, 21, revision="r3"), (WATCH, "s1-2", 2)),
        (22, killed(3, 22, revision="r3"), (RESPOND, "plain", 0)),
    ]
    states = strip(make_state(phase), *((at, frame) for at, frame, _ in films))
    assert [stands(each) for each in states] == [expected for *_, expected in films]
    assert states[0].lowering is not None
    assert states[0].lowering.message.startswith("pod a: its engine ended 1 times; next start: --gpu-")


def test_what_came_up_is_kept_when_speculation_is_tried_again() -> None:
    """After a rollback for its acceptance, too: its memory was not the reason."""
    back: Frame = {"retry_after": 10.0, "retry_limit": 1, "failure_limit": 1, "revision": "r1"}
    out, _, again = strip(
        make_state(WATCH, lowering=make_lowering()), (10, back | {"verdict": LOW}), (11, back), (99, back)
    )
    assert (stands(out), stands(again)) == ((RESPOND, "plain", 0), (OUT, "s1-1", 1))


def test_a_service_without_speculation_is_never_lowered() -> None:
    """Not while its baseline is measured first, and not after a rollback."""
    lowering = make_lowering(MOST_STEPS)
    assert make_state(measuring=True, lowering=lowering).lowered == 0
    assert make_state(BACK, rollback=make_rollback(), lowering=lowering).lowered == 0


LOWERED = make_state(
    WATCH, service="e1", memory="m1", lowering=make_lowering(), handled_retry="1", handled_rollback="a"
)


@pytest.mark.parametrize(
    ("change", "kept"),
    [
        ({}, True),
        ({"speculation": "s2"}, False),
        ({"service": "e2"}, False),
        ({"memory": "m2"}, False),
        ({"rollback": "b"}, True),
    ],
    ids=["the same file", "another speculation", "another container", "another memory plan", "a rollback"],
)
def test_another_speculation_or_memory_resets_it(change: dict[str, Any], *, kept: bool) -> None:
    """To apply the same file again changes nothing."""
    after = follow_user(LOWERED, asked(**({"memory": "m1"} | change)), 99)
    assert (after.lowering is not None) is kept


def test_a_state_of_an_earlier_release_keeps_what_it_has() -> None:
    """It did not note how memory was to be planned."""
    state = make_state(WATCH, service="e1", handled_retry="1", handled_rollback="a")
    after = follow_user(state, asked(memory="m1"), 99)
    assert (after.memory, after.phase, after.subject) == ("m1", WATCH, "s1")
