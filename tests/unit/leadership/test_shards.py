"""Services spread over replicas by namespace: each has one replica that may write about it, or none for a moment."""

from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.leadership.replicas import NAMESPACES, Replica, Scene

from specdec_operator.leadership.lease import DURATION
from specdec_operator.leadership.shards import SETTLE, VIEW, owner_of

MOVED = 20.0
"""Seconds until another replica writes about the services of one that is killed."""
MANY = [f"namespace-{each}" for each in range(3000)]


def test_no_namespace_has_an_owner_where_no_shard_lives() -> None:
    """No replica acts then."""
    assert owner_of("team", frozenset()) is None
    assert owner_of("team", frozenset({3})) == 3


@given(live=st.frozensets(st.integers(0, 63), min_size=2, max_size=16))
def test_only_the_namespaces_of_a_lost_shard_move(live: frozenset[int]) -> None:
    """And a shard that comes takes from the others, which take nothing from each other."""
    lost = min(live)
    for namespace in MANY[:200]:
        before, after = owner_of(namespace, live), owner_of(namespace, live - {lost})
        assert after in live - {lost}
        assert before in (after, lost)


@pytest.mark.parametrize("shards", [2, 3, 5, 16])
def test_namespaces_are_spread_evenly(shards: int) -> None:
    """Within a quarter of the mean, for thousands of them."""
    counted = Counter(owner_of(each, frozenset(range(shards))) for each in MANY)
    mean = len(MANY) / shards
    assert len(counted) == shards
    assert all(0.75 * mean < each < 1.25 * mean for each in counted.values())


@pytest.fixture
def pair() -> Iterator[tuple[Scene, Replica, Replica]]:
    """Two shards and two replicas, which write to every namespace."""
    scene = Scene(2)
    first, second = scene.start(), scene.start()
    scene.seconds_until(scene.all_written)
    assert {*scene.writers().values()} == {"r1", "r2"}
    yield scene, first, second
    scene.close()


def test_no_replica_writes_before_all_others_must_know_of_it() -> None:
    """A replica that was there before continues meanwhile with the namespaces that it keeps."""
    scene = Scene(2)
    first = scene.start()
    assert scene.seconds_until(scene.all_written) >= SETTLE
    scene.go(10)
    second = scene.start()
    kept = {each for each in NAMESPACES if owner_of(each, frozenset({0, 1})) == 0}
    for _ in range(int(SETTLE)):
        scene.go(1)
        assert second.writes() == set()
        assert kept <= first.writes()
    assert scene.seconds_until(scene.all_written) < SETTLE
    assert first.writes() == kept
    assert second.writes() == {*NAMESPACES} - kept
    scene.close()


def test_the_namespaces_of_a_replica_that_stops_move_at_once(pair: tuple[Scene, Replica, Replica]) -> None:
    """It gives its Lease back: an upgrade waits for no end of one."""
    scene, first, _ = pair
    first.stop()
    assert scene.seconds_until(lambda: {*scene.writers().values()} == {"r2"} and scene.all_written()) <= 5


@pytest.mark.parametrize("seconds", [11.0, 17.0, 60.0])
def test_a_replica_that_slept_through_its_lease_writes_nothing(
    pair: tuple[Scene, Replica, Replica], seconds: float
) -> None:
    """It does not write when it wakes up, and it does not write later: it ends."""
    scene, first, second = pair
    first.paused_until = scene.clock.now + seconds
    scene.go(seconds - 0.5)
    if seconds > DURATION + 5:
        assert len(second.writes()) == len(NAMESPACES)
    scene.go(3)
    assert first not in scene.replicas
    assert scene.seconds_until(scene.all_written) <= MOVED


def test_a_replica_that_slept_alone_ends_too(pair: tuple[Scene, Replica, Replica]) -> None:
    """No other replica took its Lease, and it could renew it. But the others assume that it has ended."""
    scene, first, second = pair
    first.paused_until = scene.clock.now + 30
    scene.go(31)
    assert first not in scene.replicas
    assert len(second.writes()) == len(NAMESPACES)


def test_a_replica_that_cannot_look_at_the_leases_stops_to_write(pair: tuple[Scene, Replica, Replica]) -> None:
    """Others may have come meanwhile."""
    scene, first, second = pair
    first.cut = second.cut = True
    scene.go(VIEW + 0.5)
    assert first.shards.held()
    assert second.shards.held()
    assert scene.writers() == {}


@pytest.mark.parametrize("pause", [4.0, 5.0, 6.0, 7.0])
def test_what_is_known_and_since_when_change_together(pause: float) -> None:
    """One that was paused, and then waits for a slow answer, does not take its old view for a new one."""
    for offset in range(8):
        scene = Scene(2)
        first = scene.start()
        scene.go(20 + offset / 4)
        first.slow = 0.6
        scene.start()
        scene.go(0.5)
        first.paused_until = scene.clock.now + pause
        scene.go(16)
        scene.close()


ACTS = st.tuples(
    st.sampled_from(["pause", "pause", "cut", "heal", "slow", "kill", "stop", "start", "start", "wait"]),
    st.integers(0, 3),
    st.sampled_from([0.25, 1.0, 3.0, 5.0, 7.0, 9.0, 13.0, 25.0]),
    st.sampled_from([0.0, 0.25, 1.0, 2.0, 6.0, 14.0]),
)


def _do(scene: Scene, act: str, number: int, seconds: float) -> None:
    if act == "start":
        if len(scene.replicas) < 4:
            scene.start()
        return
    if act == "wait" or not scene.replicas:
        return
    replica = scene.replicas[number % len(scene.replicas)]
    match act:
        case "pause":
            replica.paused_until = scene.clock.now + seconds
        case "cut" | "heal":
            replica.cut = act == "cut"
        case "slow":
            replica.slow = min(seconds, 3.0) / 2
        case "kill":
            scene.kill(replica)
        case "stop":
            replica.stop()


@settings(max_examples=settings().max_examples // 5)
@given(shards=st.integers(2, 3), acts=st.lists(ACTS, min_size=5, max_size=25))
def test_two_replicas_never_write_about_one_namespace(shards: int, acts: list[tuple[str, int, float, float]]) -> None:
    """Replicas that are paused, cut off, slow, killed, stopped and begun at any time; in the end every one is written
    about again."""
    scene = Scene(shards)
    for _ in range(shards):
        scene.start()
    scene.go(12)
    for act, number, seconds, then in acts:
        _do(scene, act, number, seconds)
        scene.go(then)
    for replica in scene.replicas:
        replica.cut, replica.slow = False, 0.0
    scene.go(30)
    if not scene.replicas:
        scene.start()
    scene.seconds_until(scene.all_written)
    scene.close()
