"""When a status is worth a write, and that it stays small."""

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.builders import (
    FAILED,
    IDLE,
    LOW,
    PASSED,
    Body,
    found,
    judged,
    make_baseline,
    make_dry_run,
    make_evidence,
    make_good,
    make_reduction,
    make_rollback,
    make_state,
    pace,
    policy,
    view,
)

from specdec_engine.memory.facts import MOST_CONFIG, PodFact, Role
from specdec_operator.guard.checks import unsure
from specdec_operator.guard.decisions import KnownGood
from specdec_operator.guard.judge import Judged
from specdec_operator.guard.rows import TokensUpTo
from specdec_operator.guard.saved import Saved
from specdec_operator.guard.state import Phase, State
from specdec_operator.guard.verdict import Reason
from specdec_operator.guard.what_if import Advice, Fewer
from specdec_operator.report.status import is_significant, status_of

WATCHING = make_state()
ROLLED_BACK = make_state(Phase.ROLLED_BACK, rollback=make_rollback())


def window(verdict: Any = PASSED, seconds: float = 0.02, drafts: float = 500, **evidence: Any) -> Judged:
    """A closed window with an acceptance of 0.80 and its time per output token."""
    return judged(verdict, make_evidence(drafts, token_times={1: pace(seconds, seconds)}, **evidence))


def status(state: State = WATCHING, **changes: Any) -> Body:
    """The status after a passing window."""
    return status_of(found(state, **({"judged": window()} | changes)), {}, 60.0)


CHANGES = {
    "the same": (status(), 9999, False),
    "two points are jitter": (status(judged=window(rate=0.81)), 9999, False),
    "a moved number, too soon": (status(judged=window(rate=0.9)), 59, False),
    "a moved number, a minute later": (status(judged=window(rate=0.9)), 60, True),
    "a speed within 5 %": (status(judged=window(seconds=0.0209)), 9999, False),
    "a slower one, too soon": (status(judged=window(seconds=0.022)), 59, False),
    "a slower one, a minute later": (status(judged=window(seconds=0.022)), 60, True),
    "a faster one, a minute later": (status(judged=window(seconds=0.018)), 60, True),
    "more drafts": (status(judged=window(drafts=700)), 9999, False),
    "another recommendation, too soon": (status(advice=Advice(tokens=2, message="x")), 59, False),
    "other rows of it, a minute later": (
        status(advice=Advice(tokens=4, by_batch_size=(TokensUpTo(tokens=2),), message="x")),
        60,
        True,
    ),
    "another recommendation, a minute later": (status(advice=Advice(tokens=2, message="x")), 60, True),
    "a verdict": (status(judged=window(LOW, rate=0.1)), 0, True),
    "a gap in the evidence": (status(judged=window(IDLE)), 0, True),
    "a window that was counted": (status(replace(WATCHING, judged=99.0)), 9999, False),
    "a deadline that moved": (status(replace(WATCHING, wanted_since=99.0)), 9999, False),
    "a counted failure": (status(replace(WATCHING, failures=1)), 0, True),
    "a blamed pod": (status(replace(WATCHING, blamed=("p",))), 0, True),
    "what would have been done": (status(replace(WATCHING, dry_run=make_dry_run())), 0, True),
    "a speculation that passed": (status(replace(WATCHING, last_good=(make_good(),))), 0, True),
    "a speed that is known": (status(replace(WATCHING, baseline=(make_baseline(),))), 0, True),
    "a hold": (status(policy=policy(held=True)), 0, True),
    "a URL": (status(url="http://x"), 0, True),
    "a generation": (status(generation=2), 0, True),
    "pods that went away": (status(rollout=FAILED), 0, True),
    "the first numbers": (status(judged=None), 0, True),
    "a phase": (status(ROLLED_BACK), 0, True),
}


@pytest.mark.parametrize(("after", "since_written", "material"), CHANGES.values(), ids=CHANGES)
def test_a_status_is_written_for_decisions_and_numbers_once_a_minute(
    after: Body, since_written: float, material: bool
) -> None:
    """A steady service is not written to at all."""
    assert is_significant(after, status(), since_written=since_written) is material


@pytest.mark.parametrize(
    ("message", "since_written", "material"),
    [
        ("no permission", 9999, False),
        ("no metrics in 61 s", 9999, False),
        ("no token", 59, False),
        ("no token", 60, True),
    ],
)
def test_what_keeps_metrics_from_being_read_is_written_once_a_minute(
    message: str, since_written: float, material: bool
) -> None:
    """The reason stays ScrapeFailed after the permission was granted, and only the message has what is missing now."""
    before = "no metrics in 60 s" if "metrics" in message else "no permission"
    told = [status(judged=window(unsure(Reason.SCRAPE_FAILED, each))) for each in (before, message)]
    assert is_significant(told[1], told[0], since_written=since_written) is material


@pytest.mark.parametrize(
    ("baseline", "since_written", "material"),
    [
        ((make_baseline(),), 9999, False),
        ((make_baseline(blocks=16),), 599, False),
        ((make_baseline(blocks=16),), 600, True),
        ((make_baseline(), make_baseline(2)), 0, True),
    ],
    ids=["the same", "learnt on", "learnt on for ten minutes", "a load that is new"],
)
def test_what_baseline_pods_measure_is_written_each_ten_minutes(
    baseline: Any, since_written: float, material: bool
) -> None:
    """A service after a rollback learns with each window, for days."""
    before, after = (status(replace(ROLLED_BACK, baseline=each)) for each in ((make_baseline(),), baseline))
    assert is_significant(after, before, since_written=since_written) is material


@pytest.mark.parametrize(("since_written", "material"), [(599, False), (600, True)])
def test_what_was_saved_is_written_each_ten_minutes(since_written: float, *, material: bool) -> None:
    """It grows with each window of a service in which nothing changes."""
    told = [
        status(replace(ROLLED_BACK, saved=Saved(hours=each, low=each, high=each, compared=each, since=1.0)))
        for each in (1.0, 1.01)
    ]
    assert is_significant(told[1], told[0], since_written=since_written) is material


def test_the_first_status_is_always_written() -> None:
    """Also where there is none at all yet."""
    assert is_significant(status(), None, since_written=0)
    assert is_significant(status(), {}, since_written=0)


def longest(at: int) -> KnownGood:
    """A good speculation with the longest block that is kept."""
    block = json.dumps({"method": "ngram", "tokens": 2, "options": {"note": "x" * 980}})
    return make_good(block=block, digest=f"digest-{at}", of=f"asked-{at}")


@pytest.mark.parametrize("accelerator", ["cpu", "nvidia", "ascend"])
def test_a_status_full_of_words_stays_small(accelerator: str) -> None:
    """etcd and every watcher carry it: less than 24 KiB with everything that it may hold at once."""
    words = "w" * 500  # of others no more than 400 characters are passed on
    verdict = replace(LOW, message="v" * 400, pods=("p" * 60,) * 3)
    rows = tuple(Fewer(tokens=n, rate=0.123, length=1.234, speedup=1.234, passes=False) for n in range(1, 129))
    made: Body = {}
    for at in range(12):
        phase = (Phase.RESPONDING, Phase.ROLLED_BACK)[at % 2]
        state = make_state(
            phase,
            since=float(at),
            blamed=("p" * 60,) * 3,
            restarting=("p" * 60,),
            rollback=make_rollback("RolloutFailed", message=words, good=longest(3)),
            reduced=make_reduction(),
            dry_run=make_dry_run(),
            last_good=(longest(1), longest(2)),
            baseline=tuple(make_baseline(2**n, *(0.0123456789,) * 9) for n in range(11)),
        )
        told = [PodFact(role=role, of="f" * 10, bytes=1 << 40, config="c" * MOST_CONFIG) for role in Role]
        changes: Body = {"facts": tuple(told), "rollout": view(reason="PreflightRefused", message=words), "fewer": rows}
        seen = window(verdict, tokens=128)
        advice = Advice(tokens=0, message=f"serve without speculation: {verdict.message}")
        spec = {"engine": {"accelerator": accelerator}}
        made = status_of(found(state, spec=spec, judged=seen, advice=advice, **changes), made, float(at))
    assert len(made["history"]) == 10
    assert len(made["guard"]["fewerTokens"]) == 16
    assert len(json.dumps(made)) < 24 * 1024
