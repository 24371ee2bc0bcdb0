"""A setting by load: what is refused, which row holds at which step, and what the engine does with it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.runtime.test_dial_hooks import SKIP, Scheduler, StandinDrafts, StandinOutput
from tests.unit.runtime.test_dial_setting import written
from tests.unit.runtime.test_dial_watch import annotate, asked, folder, page, started

from specdec_runtime.clock.dips import AROUND, AT_LOAD, ENOUGH, Dips
from specdec_runtime.clock.sums import TimedStep
from specdec_runtime.dial import hooks, schedule, setting, state
from specdec_runtime.dial.schedule import STEADY, LoadRow, RowChoice

__all__ = ["folder"]

GIVEN: list[dict[str, int]] = [{"upTo": 2, "tokens": 3}, {"upTo": 8, "tokens": 1}, {"tokens": 0}]
ROWS = schedule.rows_of(GIVEN, 4)


def test_rows_are_read_and_an_older_setting_reads_as_before() -> None:
    """And they are shown as they were written."""
    found = setting.parse(written(tokens=3, byBatchSize=GIVEN))
    assert found.rows == (LoadRow(up_to=2, tokens=3), LoadRow(up_to=8, tokens=1), LoadRow(up_to=None, tokens=0))
    assert (found.tokens, schedule.shown(found.rows)) == (3, GIVEN)
    assert setting.parse(written(tokens=3)).rows == ()


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("x", "a list of 1 to 16 rows"),
        ([], "a list of 1 to 16 rows"),
        ({"upTo": 2}, "a list of 1 to 16 rows"),
        ([{"upTo": each, "tokens": 1} for each in range(1, 17)] + [{"tokens": 0}], "a list of 1 to 16 rows"),
        ([3], "tokens of each row must be a whole number from 0 to the 3 of the setting"),
        ([{"tokens": 4}], "from 0 to the 3 of the setting"),
        ([{"tokens": -1}], "from 0 to the 3 of the setting"),
        ([{"tokens": True}], "from 0 to the 3 of the setting"),
        ([{"tokens": 1.0}], "from 0 to the 3 of the setting"),
        ([{"upTo": 2}], "from 0 to the 3 of the setting"),
        ([{"upTo": 2, "tokens": 1}], "the last row is for all larger loads and must have no upTo"),
        ([{"tokens": 1}, {"tokens": 0}], "must be a whole number from 1 to 65536"),
        ([{"upTo": 0, "tokens": 1}, {"tokens": 0}], "must be a whole number from 1 to 65536"),
        ([{"upTo": 10**9, "tokens": 1}, {"tokens": 0}], "must be a whole number from 1 to 65536"),
        ([{"upTo": 8, "tokens": 1}, {"upTo": 2, "tokens": 3}, {"tokens": 0}], "upTo must grow from row to row"),
        ([{"upTo": 2, "tokens": 1}, {"upTo": 2, "tokens": 3}, {"tokens": 0}], "upTo must grow from row to row"),
    ],
)
def test_rows_that_are_wrong_are_refused_with_a_sentence(rows: object, words: str) -> None:
    """The setting as a whole is: half of it would be another one."""
    with pytest.raises(setting.SettingRefusedError, match="byBatchSize of the setting is ") as refused:
        setting.parse(written(tokens=3, byBatchSize=rows))
    assert words in str(refused.value)
    assert len(str(refused.value)) < 400


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda each: st.lists(each, max_size=4) | st.dictionaries(st.sampled_from(["upTo", "tokens", "x"]), each),
)


@given(ANY)
def test_no_rows_raise_anything_else_or_exceed_the_setting(rows: object) -> None:
    """What is read can be followed: it grows, ends open, and asks for no more than it may."""
    try:
        found = schedule.rows_of(rows, 3)
    except ValueError:
        return
    assert found[-1].up_to is None
    assert all(0 <= each.tokens <= 3 for each in found)
    assert RowChoice().tokens(found, 70_000) == found[-1].tokens


def test_the_step_of_a_load_drafts_what_its_row_has() -> None:
    """The first step by its load; from then on a load has to last."""
    assert [RowChoice().tokens(ROWS, load) for load in (0, 1, 2, 3, 8, 9, 5000)] == [3, 3, 3, 1, 1, 0, 0]
    choice = RowChoice()
    found = [choice.tokens(ROWS, load) for load in [2] + [3] * STEADY + [2] * STEADY]
    assert found == [3] * STEADY + [1] * STEADY + [3]


def test_a_load_to_and_fro_between_two_rows_changes_nothing() -> None:
    """A step at the present row's load begins the count again, one without requests does not count."""
    choice = RowChoice()
    assert {choice.tokens(ROWS, load) for load in [2, 3, 3, 0, 3] * 200} == {3}


def test_other_rows_hold_at_once() -> None:
    """A change of the setting waits for nothing."""
    choice = RowChoice()
    assert choice.tokens(ROWS, 4) == 1
    assert choice.tokens(schedule.rows_of([{"tokens": 2}], 4), 4) == 2


def output(requests: int, *, prompt: bool = False, own: int = 4) -> StandinOutput:
    """A step of so many requests, none of which has a draft to be verified."""
    each = {f"r{number}": 1 for number in range(requests)}
    total = requests + 300 * prompt
    return StandinOutput(own, {}, each, total)


def test_an_engine_follows_the_rows_and_cuts_what_was_drafted_beyond() -> None:
    """At 0 the drafter is left out as at the dial's 0, but it reads prompts: their answers outlive the load."""
    scheduler = Scheduler()
    position = hooks.on_scheduler(scheduler, SKIP, StandinOutput)
    for requests, prompt, used, off in (
        (1, False, 3, False),
        (4, False, 1, False),
        (9, False, 0, True),
        (9, True, 0, 0),
    ):
        position.tokens, position.rows = 3, schedule.rows_of(GIVEN, 3)
        given = output(requests, prompt=prompt)
        scheduler._update_after_schedule(given)
        scheduler.update_draft_token_ids(StandinDrafts())
        assert (given.num_spec_tokens_to_schedule, position.drafted) == (used, used)
        assert getattr(given, "specdec_off", False) == off
        assert scheduler.seen[-1] == [[1, 2, 3, 4][:used], [5][:used]]


@pytest.mark.parametrize(("tokens", "own", "used"), [(1, 4, 1), (3, 2, 2), (0, 4, 0), (3, 0, 0)])
def test_rows_never_raise_what_the_dial_or_the_flags_allow(tokens: int, own: int, used: int) -> None:
    """Also in the moment in which one of the two is new and the other is not."""
    scheduler = Scheduler()
    position = hooks.on_scheduler(scheduler, SKIP, StandinOutput)
    position.tokens, position.rows = tokens, ROWS
    given = output(1, own=own)
    scheduler._update_after_schedule(given)
    assert given.num_spec_tokens_to_schedule == used


@pytest.mark.parametrize(
    ("requests", "dip", "used", "dips"),
    [(4, 3, 3, True), (9, 3, 3, True), (4, 0, 0, True), (4, 1, 1, False), (1, 1, 1, True), (4, 4, 1, False)],
)
def test_a_dip_may_draft_more_than_its_row_and_never_more_than_the_setting(
    requests: int, dip: int, used: int, dips: bool
) -> None:
    """That shows whether a larger number pays again."""
    scheduler = Scheduler()
    position = hooks.on_scheduler(scheduler, SKIP, StandinOutput)
    position.tokens, position.rows, position.dip = 3, ROWS, dip
    given = output(requests)
    scheduler._update_after_schedule(given)
    assert (given.num_spec_tokens_to_schedule, position.dip is not None) == (used, dips)


def test_dips_try_the_largest_number_where_a_row_has_less() -> None:
    """At nothing all of them do; without rows none does, as vLLM's own schedule would have it."""
    for by_load, usual, tried in ((True, 0, {3}), (True, 1, {0, 3}), (False, 1, {0}), (False, 0, {0})):
        dips = Dips(lambda: 0.5, share=0.2)
        found = set()
        for _ in range(4000):
            dip = dips.begins(3, 0, by_load=by_load)
            dipped = dip is not None and dip != usual
            if dip is not None and not dipped:
                dips.cut()
            found |= set() if dip is None else {dip}
            dips.note(step(usual if dip is None else dip), dipped=dipped)
        assert found == tried
        assert {(kind.tokens, kind.dip) for kind in dips.sums} == {(usual, each) for each in tried if each != usual}


def step(tokens: int) -> TimedStep:
    """One step of four requests."""
    return TimedStep(
        asked=tokens, requests=4, answered=4, prompt=False, seconds=0.01 * (1 + tokens), tokens=4, drafted=0, kept=[]
    )


def test_a_change_of_the_row_in_a_dip_is_compared_with_nothing() -> None:
    """Before and after it, the engine drafted other numbers."""
    dips = Dips(lambda: 0.5, share=0.2)
    for tokens, dipped in [*[(3, False)] * AROUND, *[(0, True)] * AROUND, *[(1, False)] * 2 * AROUND]:
        dips.note(step(tokens), dipped=dipped)
    assert not dips.sums


def test_the_page_has_the_rows_in_force(folder: Path) -> None:
    """Until another setting, an empty one, or its end; what is refused changes nothing."""
    thread, position = started()
    for text, tokens, rows in (
        (asked(3, byBatchSize=GIVEN), 3, GIVEN),
        (asked(3, byBatchSize=[{"tokens": 9}]), 3, GIVEN),
        (asked(3), 3, None),
        (asked(2, byBatchSize=[{"tokens": 2}]), 2, [{"tokens": 2}]),
        ("", 4, None),
    ):
        annotate(folder, text)
        thread.look()
        assert (position.tokens, schedule.shown(position.rows) or None) == (tokens, rows)
        assert (page()["tokens"], page().get("byBatchSize")) == (tokens, rows)


def test_rows_run_out_with_their_setting() -> None:
    """As any setting that the operator does not renew."""
    pod = state.DialledPod(started=4, revision="7f9c4d")
    now = state.Now(wall=1764283001.0, steady=10.0)
    text = json.dumps(json.loads(written(tokens=4)) | {"byBatchSize": GIVEN, "holdFor": 60})
    found = state.read(state.begin(pod, now), pod, text.encode(), now)
    assert (found.rows, found.since) == (ROWS, now.wall)
    later = state.expire(found, pod, state.Now(wall=1764283100.0, steady=110.0))
    assert (later.tokens, later.rows, later.since) == (4, (), 1764283100.0)


def test_a_load_that_is_new_is_learnt_as_the_first_one() -> None:
    """After many dips at another load: so many at nothing, and as often as the first."""
    dips, tried = Dips(lambda: 0.5), list[int]()
    for requests, count in ((1, ENOUGH + 20), (8, AT_LOAD + 20)):
        begun = len(tried)
        for _ in range(600_000):
            dip = dips.begins(4, 0)
            if dip is not None and not dips._within:
                tried.append(dip)
            dips.note(replace(step(4 if dip is None else dip), requests=requests), dipped=dip is not None)
            if len(set(tried[begun:])) > 1 and len(tried) - begun >= count:
                break
        first = tried[begun : begun + AT_LOAD]
        assert set(first) == {0}
    assert set(tried) == {0, 1, 2, 3}
