"""The dial, pure: what a user may ask for, the setting that each pod gets, and what a pod's answer means."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdec_operator.guard.dial import (
    HOLD_FOR,
    NO_ANSWER,
    DialAnswer,
    DialRequest,
    DialView,
    answer_of,
    by_hand,
    due_settings,
    setting,
)

NOW = 1_795_000_000.0
OFF = DialRequest(tokens=0, reason="Requested", message="by hand")


@pytest.mark.parametrize(
    ("text", "tokens", "until"),
    [
        ("off", 0, None),
        ("0", 0, None),
        ("2", 2, None),
        ("4", 4, None),
        (" off ", 0, None),
        ("off until 2026-11-18T12:00:00Z", 0, 1_795_003_200.0),
        ("2 until 2026-11-18T13:00:00+01:00 the drafts are bad today", 2, 1_795_003_200.0),
    ],
)
def test_a_user_asks_for_tokens_and_perhaps_for_an_end(text: str, tokens: int, until: float | None) -> None:
    """`off` is zero tokens. The reason behind it is shown."""
    request, refused = by_hand(text, 4, NOW)
    assert request is not None
    assert (refused, request.tokens, request.until) == ("", tokens, until)
    assert ("bad today" in request.message) is ("bad today" in text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("5", "5 is more than the 4 tokens"),
        ("on", "'on' is not a setting"),
        ("-1", "'-1' is not a setting"),
        ("2.5", "'2.5' is not a setting"),
        ("99999", "'99999' is not a setting"),
        ("off until tomorrow", "'tomorrow' is not a time"),
        ("off until 2026-11-18T12:00:00", "is not a time"),
        ("x" * 200_000, "is not a setting"),
    ],
)
def test_another_text_is_refused_with_the_way_out(text: str, words: str) -> None:
    """In a sentence of bounded length."""
    request, refused = by_hand(text, 4, NOW)
    assert request is None
    assert words in refused
    assert len(refused) < 500


@pytest.mark.parametrize("text", [None, "", "off until 2026-11-18T09:00:00Z"])
def test_nothing_is_asked_for_without_an_annotation_and_after_its_end(text: str | None) -> None:
    """An end that has passed is not a mistake: the annotation may stay in a file of GitOps."""
    assert by_hand(text, 4, NOW) == (None, "")


def test_every_pod_without_the_setting_gets_it() -> None:
    """By what it asks for: another revision, other tokens, an older decision, garbage and nothing at all are not it."""
    good = setting(OFF, "r1", NOW - 60)
    held: dict[str, Any] = json.loads(good)
    others = {
        "none": "",
        "garbage": "{",
        "list": "[1]",
        "deep": "[" * 10_000,
        "tokens": json.dumps(held | {"tokens": 1}),
        "revision": json.dumps(held | {"revision": "r0"}),
        "decision": json.dumps(held | {"decision": "operator/Other-0"}),
        "future": json.dumps(held | {"time": NOW + 60}),
        "no time": json.dumps(held | {"time": True}),
    }
    due = due_settings(OFF, {pod: ("r1", text) for pod, text in ({"good": good} | others).items()}, NOW)
    assert due.keys() == others.keys()
    assert set(due.values()) == {setting(OFF, "r1", NOW)}


def test_a_setting_is_renewed_in_time_but_not_beyond_the_end_that_the_user_gave() -> None:
    """A pod takes back a setting that is not renewed."""
    old = setting(OFF, "r1", NOW - HOLD_FOR / 2)
    assert due_settings(OFF, {"a": ("r1", old)}, NOW)
    assert not due_settings(OFF, {"a": ("r1", old)}, NOW - 1)
    ending = DialRequest(tokens=0, reason="Requested", message="", until=NOW + 10)
    last = setting(ending, "r1", NOW - 2000)
    assert json.loads(last)["holdFor"] == 2010
    assert not due_settings(ending, {"a": ("r1", last)}, NOW)


def test_without_a_request_the_operators_own_settings_are_removed_and_no_others() -> None:
    """A tenant may patch his own pods: that is judged as what it drafts."""
    theirs = json.dumps({"tokens": 0, "revision": "r1", "time": NOW, "decision": "mine"})
    texts = {"ours": setting(OFF, "r1", NOW), "theirs": theirs, "none": ""}
    assert due_settings(None, {pod: ("r1", text) for pod, text in texts.items()}, NOW) == {"ours": None}


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (None, NO_ANSWER),
        (b"", NO_ANSWER),
        (b"<html>", NO_ANSWER),
        (b"[]", NO_ANSWER),
        (b'{"tokens": 0}', NO_ANSWER),
        (b'{"offered": "yes"}', NO_ANSWER),
        (b"\xff\xfe", NO_ANSWER),
        (b'{"offered": false, "why": "no dial: version"}', DialAnswer(offered=False, why="no dial: version")),
        (
            b'{"offered": true, "tokens": -1, "started": 4, "why": ""}',
            DialAnswer(offered=False, why="the pod does not answer at /specdec/dial"),
        ),
        (
            b'{"offered": true, "tokens": 0, "started": 4, "why": "w", "refused": {"why": "old"}}',
            DialAnswer(offered=True, why="w", tokens=0, started=4, refused="old"),
        ),
    ],
)
def test_what_a_pod_answers_is_read_as_far_as_it_can_be_trusted(page: bytes | None, expected: DialAnswer) -> None:
    """Anything else is an answer that it has no dial."""
    assert answer_of(page) == expected


@given(st.binary(max_size=200) | st.text(max_size=50).map(lambda text: json.dumps(text).encode()))
def test_no_page_ends_the_operator(page: bytes) -> None:
    """Whatever a pod sends."""
    assert isinstance(answer_of(page), DialAnswer)


def test_the_view_counts_the_pods_that_answer_what_is_asked_and_names_the_first_other() -> None:
    """What was asked is not what is in force."""
    off, on = (DialAnswer(offered=True, why="", tokens=tokens, started=4) for tokens in (0, 4))
    none = DialAnswer(offered=False, why="no dial: version")
    view = DialView(request=OFF, pods=("a", "b", "c", "d"), answers={"a": off, "b": on, "c": none})
    assert (view.in_force, view.settled) == (1, False)
    assert view.trouble == "pod b: "
    assert DialView(request=OFF, pods=("c",), answers={"c": none}).trouble == "pod c: no dial: version"
    assert DialView(request=OFF, pods=("a",), answers={"a": off}).settled


@pytest.mark.parametrize(
    ("said", "drafted"),
    [((0, 0), 0), ((4, 4), 4), ((4, 0), None), ((0,), None), ((0, None), None), ((), None)],
    ids=["followed", "not followed yet", "one follows", "one is silent", "one has no dial", "none answers"],
)
def test_what_is_drafted_is_known_once_all_pods_answer_the_same(
    said: tuple[int | None, ...], drafted: int | None
) -> None:
    """By what they answer, whether they follow or not."""
    answers = {
        pod: DialAnswer(offered=each is not None, why="", tokens=each or 0, started=4)
        for pod, each in zip("ab", said, strict=False)
    }
    assert DialView(request=OFF, pods=("a", "b"), answers=answers).drafted == drafted


def test_a_probe_is_not_taken_for_what_is_drafted() -> None:
    """Each pod begins and ends it a moment later."""
    probe = DialRequest(tokens=4, reason="AcceptanceRateLow", message="", rest=0)
    answers = {pod: DialAnswer(offered=True, why="", tokens=each, started=4) for pod, each in (("a", 0), ("b", 4))}
    assert DialView(request=probe, pods=("a", "b"), answers=answers).drafted == 0
    assert DialView(request=probe).drafted is None
