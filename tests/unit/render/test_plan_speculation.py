"""Which speculation a state asks for, what fewer tokens make of it, and what is remembered of one that is good."""

import json
from typing import Any

import pytest
from tests.unit.builders import DRAFT, NAME, make_good, make_reduction, make_rollback, make_spec, make_state

from specdec_operator.api.canonical import canonical
from specdec_operator.api.speculation import Speculation
from specdec_operator.guard.state import State
from specdec_operator.render.plan import effective_speculation, known_good_of, plan, reduced

STEPS: dict[str, Any] = {"tokensByBatchSize": [{"upTo": 8, "tokens": 4}, {"upTo": 64, "tokens": 1}, {"tokens": 0}]}
NGRAM = {"method": "ngram", "tokens": 2}


def asked(**changes: Any) -> Speculation:
    return Speculation.model_validate(DRAFT | changes)


@pytest.mark.parametrize(
    ("state", "method", "tokens"),
    [
        (make_state(), "draft_model", 4),
        (make_state(reduced=make_reduction(2)), "draft_model", 2),
        (make_state(rollback=make_rollback(good=make_good())), "ngram", 2),
        (make_state(rollback=make_rollback(good=make_good()), reduced=make_reduction(1)), "ngram", 2),
        (make_state(rollback=make_rollback()), None, 0),
        (make_state(rollback=make_rollback(), reduced=make_reduction(2)), None, 0),
        (make_state(measuring=True), None, 0),
        (make_state(measuring=True, rollback=make_rollback(good=make_good())), None, 0),
    ],
)
def test_a_state_asks_for_one_speculation_or_none(state: State, method: str | None, tokens: int) -> None:
    """The plan has it, with its flags and its K; a rollback weighs more than fewer tokens, measuring more than both."""
    spec = make_spec()
    found = effective_speculation(spec, state)
    assert (found and found.method) == method
    planned = plan(spec, state, name=NAME)
    assert (planned.speculation, planned.tokens) == (found, tokens)
    flags = [json.loads(arg.partition("=")[2]) for arg in planned.args if arg.startswith("--speculative-config")]
    assert [(each["method"], each["num_speculative_tokens"]) for each in flags] == ([(method, tokens)] if found else [])


def test_without_a_speculation_in_the_spec_none_is_served() -> None:
    """Also while the state still knows one that was good."""
    assert (
        effective_speculation(make_spec(speculation=None), make_state(rollback=make_rollback(good=make_good()))) is None
    )


@pytest.mark.parametrize("block", ["", "[]", "{}", '{"method":"telepathy","tokens":2}', '{"method":"ngram"'])
def test_a_good_speculation_that_cannot_be_read_any_more_is_not_used(block: str) -> None:
    """Edited by hand, or from a release that knew another method: plain is always possible."""
    state = make_state(rollback=make_rollback(good=make_good(block=block)))
    assert effective_speculation(make_spec(), state) is None
    assert plan(make_spec(), state, name=NAME).args == plan(make_spec(speculation=None), make_state(), name=NAME).args


@pytest.mark.parametrize(
    ("tokens", "steps"),
    [(3, [3, 1, 0]), (1, [1, 1, 0]), (4, [4, 1, 0])],
)
def test_fewer_tokens_are_fewer_at_every_batch_size(tokens: int, steps: list[int]) -> None:
    """A batch that had fewer, or none, keeps them; the rest of the block stays."""
    made = reduced(asked(**STEPS), tokens)
    assert made.tokens == tokens
    assert [each.tokens for each in made.tokens_by_batch_size or ()] == steps
    assert canonical(made) | {"tokens": 4} | STEPS == canonical(asked(**STEPS))


def test_fewer_tokens_of_a_plain_block_change_nothing_else() -> None:
    """No table by batch size appears where there was none."""
    assert canonical(reduced(asked(), 2)) == canonical(asked(tokens=2))


def test_what_is_served_is_remembered_as_the_user_wrote_it() -> None:
    """Its block leads back to the same speculation; two that mean the same have one digest."""
    state = make_state(speculation="s9")
    good = known_good_of(asked(), state, tokens=4, rate=0.8049, at=7.0)
    assert good is not None
    assert Speculation.model_validate(json.loads(good.block)) == asked()
    assert (good.of, good.tokens, good.rate, good.at) == ("s9", 4, 0.8, 7.0)
    turned = Speculation.model_validate({key: DRAFT[key] for key in reversed(DRAFT)})
    again = known_good_of(turned, state, tokens=4, rate=0.5, at=99.0)
    assert again is not None
    assert again.digest == good.digest
    other = known_good_of(asked(tokens=2), state, tokens=2, rate=0.8, at=7.0)
    assert other is not None
    assert other.digest != good.digest


def test_the_last_good_one_stays_that_of_its_own_speculation() -> None:
    """It passes again while it is served instead: it was asked for earlier, not now."""
    state = make_state(rollback=make_rollback(good=make_good(of="s0")))
    good = known_good_of(Speculation.model_validate(NGRAM), state, tokens=2, rate=0.6, at=9.0)
    assert good is not None
    assert good.of == "s0"


@pytest.mark.parametrize(("length", "kept"), [(700, True), (2048, False)])
def test_a_block_that_is_too_long_is_not_remembered(length: int, kept: bool) -> None:
    """The status stays small; such a speculation rolls back to plain."""
    long = asked(options={"note": "x" * length})
    assert (known_good_of(long, make_state(), tokens=4, rate=0.8, at=0.0) is not None) is kept
