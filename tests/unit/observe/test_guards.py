"""Which service guards which guest, by what the watch has reported."""

from typing import Any

from specdec_operator.observe.guards import GuestGuards


def service(name: str, guest: str = "theirs", *, at: str = "1", field: str = "inferenceServiceRef") -> dict[str, Any]:
    """A service that guards something. at: when it was created."""
    meta = {"namespace": "team-a", "name": name, "creationTimestamp": at}
    return {"metadata": meta, "spec": {field: {"name": guest}}}


def known(*services: dict[str, Any]) -> GuestGuards:
    """What is known after these events."""
    guards = GuestGuards()
    for each in services:
        guards.note(each)
    return guards


def test_the_oldest_service_of_a_guest_guards_it() -> None:
    """By its creation, then by its name; whatever the order of the events. Another kind of object is another guest."""
    guards = known(service("b", at="2"), service("a", at="2"), service("z"), service("y", field="deploymentRef"))
    assert [guards.older(("team-a", each)) for each in "abzy"] == ["z", "z", None, None]
    guards.forget(("team-a", "z"))
    assert [guards.older(("team-a", each)) for each in "ab"] == [None, "a"]


def test_a_namespace_has_places_in_the_order_of_age() -> None:
    """Of the services that guard something; other namespaces have their own."""
    other = service("a")
    other["metadata"] = other["metadata"] | {"namespace": "team-b"}
    guards = known(service("c", "1", at="2"), service("b", "2", at="2"), service("d", "3"), other)
    assert [guards.place(("team-a", each)) for each in "dbc"] == [0, 1, 2]
    assert guards.place(("team-b", "a")) == 0
    guards.forget(("team-a", "d"))
    assert guards.place(("team-a", "b")) == 0


def test_a_service_that_names_something_else_by_now_is_taken_out() -> None:
    """Another guest, or none; nothing stays of it."""
    guards = known(service("a"), service("b", at="2"))
    guards.note(service("a", "other"))
    assert guards.older(("team-a", "b")) is None
    for name, spec in (("a", {"model": {}}), ("b", None)):
        guards.note(service(name) | {"spec": spec})
    assert (guards.place(("team-a", "b")), guards.older(("team-a", "b"))) == (0, None)
    assert not any(vars(guards).values())


def test_an_inference_service_has_a_guard_while_a_service_names_it() -> None:
    """One of this namespace and kind."""
    guards = known(service("a"), service("b", "made", field="deploymentRef"))
    assert guards.has_guard("team-a", "theirs")
    assert not guards.has_guard("team-b", "theirs")
    assert not guards.has_guard("team-a", "made")
    guards.forget(("team-a", "a"))
    assert not guards.has_guard("team-a", "theirs")
