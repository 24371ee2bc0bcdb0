"""What a watch tells after a break: also what went, and what came back as another object."""

import json
from typing import Any

from specdec_operator.control.patient import Event, Known, noted, shared, went
from specdec_operator.names import KIND


def pod(name: str, uid: str, **meta: Any) -> Event:
    """A pod."""
    return {"kind": "Pod", "metadata": {"namespace": "team", "name": name, "uid": uid, "labels": {"a": "b"}} | meta}


def tell(there: Known, *events: tuple[str | None, Event], over: bool = False) -> list[tuple[str | None, str]]:
    """What one watch tells, each as its type and the object's uid. over: whether these are a whole list."""
    listed: set[tuple[str, str]] = set()
    told = [each for kind, body in events for each in noted(there, listed, {"type": kind, "object": body})]
    told += went(there, listed) if over else []
    return [(each["type"], each["object"]["metadata"]["uid"]) for each in told]


def test_what_went_while_nobody_watched_is_told_after_the_list() -> None:
    """With its name and labels, by which its sis is found."""
    there: Known = {}
    tell(there, (None, pod("a", "1")), (None, pod("b", "2")), ("ADDED", pod("c", "3")), over=True)
    first, *gone = tell(there, (None, pod("b", "2")), over=True)
    assert (first, sorted(gone)) == ((None, "2"), [("DELETED", "1"), ("DELETED", "3")])
    assert list(there) == [("team", "b")]
    assert there["team", "b"]["metadata"]["labels"] == {"a": "b"}


def test_the_end_of_an_object_is_told_before_another_one_of_its_name() -> None:
    """Else the news of the old one's end would be taken for that of the new one."""
    there: Known = {}
    tell(there, (None, pod("a", "1")), over=True)
    assert tell(there, (None, pod("a", "2")), over=True) == [("DELETED", "1"), (None, "2")]
    assert tell(there, (None, pod("a", "2")), over=True) == [(None, "2")]


def test_what_was_told_to_be_deleted_is_not_told_again() -> None:
    """The watch said so itself."""
    there: Known = {}
    assert tell(there, ("ADDED", pod("a", "1")), ("DELETED", pod("a", "1"))) == [("ADDED", "1"), ("DELETED", "1")]
    assert tell(there, over=True) == []


def test_a_sis_loses_what_nobody_reads_and_others_do_not() -> None:
    """Who set which field of an InferenceService tells who changes it."""
    there: Known = {}
    fields = [{"manager": "kubectl"}]
    bodies = [pod("a", "1", managedFields=fields), pod("b", "2", managedFields=fields) | {"kind": KIND}]
    for body in bodies:
        list(noted(there, set(), {"type": "ADDED", "object": body}))
    assert ["managedFields" in body["metadata"] for body in bodies] == [True, False]


def test_a_bookmark_is_passed_on() -> None:
    """It has a version and no name."""
    bookmark = {"type": "BOOKMARK", "object": {"kind": "Pod", "metadata": {"resourceVersion": "7"}}}
    assert list(noted({}, set(), bookmark)) == [bookmark]


def test_equal_words_of_two_objects_are_one_and_nothing_else_changes() -> None:
    """Long texts are left as they are, for they are never equal."""
    text = json.dumps({"status": {"conditions": [{"reason": "AsRequested", "n": 1.5, "ok": True, "m": "x" * 99}]}})
    first, second = (shared(json.loads(text)) for _ in range(2))
    assert first == second == json.loads(text)
    one, other = (each["status"]["conditions"][0] for each in (first, second))
    assert one["reason"] is other["reason"]
    assert one["m"] is not other["m"]
