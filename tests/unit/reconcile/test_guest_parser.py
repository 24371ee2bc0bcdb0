"""Command lines of guests: each is parsed once, for a limited time, and none that is too long."""

import threading
from typing import Any

import pytest

from specdec_operator.guest.own_flags import OwnFlags, own_flags
from specdec_operator.guest.sizes import MOST_COMMAND_BYTES, NotRead
from specdec_operator.guest.view import parsed_engine
from specdec_operator.reconcile import guest_parser
from specdec_operator.reconcile.guest_parser import GuestParser

Body = dict[str, Any]


def pod(*args: str) -> Body:
    """The spec of a pod."""
    return {"containers": [{"name": "c", "image": "vllm", "args": list(args)}]}


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[Body]:
    """The specs that were parsed, in turn."""
    found: list[Body] = []

    def noted(spec: Body) -> Any:
        found.append(spec)
        return parsed_engine(spec)

    monkeypatch.setattr(guest_parser, "parsed_engine", noted)
    return found


async def test_equal_pods_are_parsed_once(parsed: list[Body]) -> None:
    """Fields that differ between the pods of one template do not count; args do."""
    parser = GuestParser()
    for mount in "abc":
        spec = pod("--port=1")
        spec["containers"][0]["volumeMounts"] = [{"name": mount}]
        engine = await parser.engine("ns", "pod a", spec)
        assert engine is not None
        assert engine.engine.port == 1
    assert len(parsed) == 1
    other = await parser.engine("ns", "pod a", pod("--port=2"))
    assert (other and other.engine.port, len(parsed)) == (2, 2)


async def test_what_is_too_long_is_not_parsed(parsed: list[Body]) -> None:
    """The message has the size, the rule and the way out."""
    with pytest.raises(NotRead) as caught:
        await GuestParser().engine("ns", "Deployment x", pod("-sc=x " * 150_000))
    assert str(caught.value).startswith("Deployment x has 900000 bytes of command and args in container c, and")
    assert f"reads at most {MOST_COMMAND_BYTES}: put the script into the image" in str(caught.value)
    assert parsed == []


async def test_what_takes_too_long_is_not_tried_again_until_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop waits for it once."""
    go_on, tries = threading.Event(), []

    def slow(spec: Body) -> Any:
        tries.append(spec)
        return parsed_engine(spec) if len(tries) > 1 else go_on.wait(10.0)

    monkeypatch.setattr(guest_parser, "parsed_engine", slow)
    parser = GuestParser(seconds=0.1)
    for _ in range(3):
        with pytest.raises(NotRead, match=r"pod a has command and args that were not read within 0\.1 s: simplify"):
            await parser.engine("ns", "pod a", pod("--port=1"))
    assert len(tries) == 1
    go_on.set()
    assert await parser.engine("ns", "pod a", pod("--port=2")) is not None


async def test_few_results_are_kept_and_those_that_were_used_last(parsed: list[Body]) -> None:
    """Thirty of the longest command lines are more than is kept."""
    parser, longest = GuestParser(), "x" * (MOST_COMMAND_BYTES - 2)
    for number in range(30):
        await parser.engine("ns", "a", pod(f"{number:02}{longest}"))
        await parser.engine("ns", "a", pod("--port=1"))
    assert len(parsed) == 31
    await parser.engine("ns", "a", pod(f"29{longest}"))
    assert len(parsed) == 31
    await parser.engine("ns", "a", pod(f"00{longest}"))
    assert len(parsed) == 32


async def test_flags_of_an_inference_service_are_read_once_for_each_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of its status is another version, too."""
    read: list[str] = []

    def noted(live: Body) -> OwnFlags:
        read.append(live["metadata"]["resourceVersion"])
        return own_flags(live)

    monkeypatch.setattr(guest_parser, "own_flags", noted)
    parser = GuestParser()
    for version in ("1", "1", "2", "2"):
        model = {"args": ["--port=1", "--speculative-config={}"]}
        meta = {"name": "theirs", "uid": "u", "resourceVersion": version}
        flags = await parser.flags("ns", "it", {"metadata": meta, "spec": {"predictor": {"model": model}}})
        assert flags.place is not None
        assert flags.place.baseline == ["--port=1"]
    assert read == ["1", "2"]
