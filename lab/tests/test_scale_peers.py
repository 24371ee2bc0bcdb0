"""The statements about the peers of the scale benchmark follow from what was counted."""

import json
import pathlib
import re
from collections import Counter

import pytest
from aiohttp.test_utils import TestClient, TestServer

from lab.scale.peers import argo
from lab.scale.peers.pages_standin import StandInPages
from lab.scale.peers.row import PeerRow, PeerSample, row_of, shown, writes_of
from lab.scale.process import Taken

_GO = pathlib.Path(argo.__file__).parent / "go-argo-rollouts"


def _look(at: float, *, peer: float, apiserver: float, read: int, wrote: int = 0, rss: float = 50.0) -> PeerSample:
    return PeerSample(
        at=at,
        peer=Taken(cpu=peer, rss=rss),
        apiserver=Taken(cpu=apiserver, rss=300.0),
        read=read,
        wrote=Counter({"patch pods": wrote} if wrote else {}),
    )


def test_a_row_is_what_happened_between_two_looks() -> None:
    """Cores are CPU seconds a second, memory is that of the end, and writes are those of the window alone."""
    before = _look(100.0, peer=7.0, apiserver=20.0, read=500, wrote=9999)
    after = _look(220.0, peer=13.0, apiserver=44.0, read=6500, wrote=240, rss=70.0)
    assert row_of("a peer", 1000, 15.0, before, after) == PeerRow(
        peer="a peer",
        services=1000,
        cpu_cores=0.05,
        rss_mb=70.0,
        apiserver_cores=0.2,
        writes_per_minute=120.0,
        due_per_second=pytest.approx(66.67, abs=0.01),  # type: ignore[arg-type]
        made_per_second=50.0,
    )


def _line(user: str, verb: str, resource: str, subresource: str | None = None) -> str:
    where = {"resource": resource} | ({"subresource": subresource} if subresource else {})
    return json.dumps({"user": {"username": user}, "verb": verb, "objectRef": where})


def test_writes_are_those_of_the_peer_alone() -> None:
    """Its reads and the writes of others do not count. A status counts separately from its object."""
    lines = [
        _line("peer", "patch", "analysisruns", "status"),
        _line("peer", "patch", "analysisruns", "status"),
        _line("peer", "create", "events"),
        _line("peer", "list", "analysisruns"),
        _line("peer", "watch", "analysisruns"),
        _line("somebody", "patch", "analysisruns", "status"),
        json.dumps({"user": {"username": "peer"}, "verb": "get"}),
    ]
    assert writes_of(lines, "peer") == {"patch analysisruns/status": 2, "create events": 1}


def test_an_analysis_run_asks_its_own_page_at_the_interval_of_the_services() -> None:
    """Its measurement is one that succeeds, and it goes on for ever."""
    (metric,) = argo.analysis_run(7, 1234)["spec"]["metrics"]
    assert metric["interval"] == "15s"
    assert metric["provider"]["web"]["url"] == "http://127.0.0.1:1234/runs/svc-7"
    assert metric["count"] * 15 > 7 * 24 * 3600, "it would end within a week"
    assert "consecutiveErrorLimit" not in metric


async def test_the_pages_have_what_the_runs_look_for_and_count_who_asked() -> None:
    """The condition of an AnalysisRun holds on its page."""
    (metric,) = argo.analysis_run(7, 1234)["spec"]["metrics"]
    async with TestClient(TestServer(StandInPages().app())) as pages:
        for name in ("svc-7", "svc-7", "svc-8"):
            answer = await (await pages.get(f"/runs/{name}")).json()
        assert await (await pages.get("/stand")).json() == {"asked": 3, "runs": 2}
    field = metric["provider"]["web"]["jsonPath"].removeprefix("{$.").removesuffix("}")
    assert answer[field] >= float(metric["successCondition"].removeprefix("result >= "))


def test_the_controller_is_the_pinned_one() -> None:
    """One version, and Go's own sums of every module of it."""
    assert re.search(r"^require github\.com/argoproj/argo-rollouts v1\.8\.3$", (_GO / "go.mod").read_text(), re.M)
    assert "github.com/argoproj/argo-rollouts v1.8.3 h1:" in (_GO / "go.sum").read_text()


def test_the_plain_operator_stays_as_short_as_a_first_one() -> None:
    """It is to be compared with, not to become good."""
    assert len(_GO.with_name("plain_kopf.py").read_text().splitlines()) <= 80


def test_a_row_is_shown_with_every_number() -> None:
    """People see what the file holds."""
    row = row_of("a peer", 10, 15.0, _look(0.0, peer=0, apiserver=0, read=0), _look(1.0, peer=1, apiserver=2, read=3))
    assert [line.split()[0] for line in shown(row).splitlines()] == [
        "services",
        "cpu_cores",
        "rss_mb",
        "apiserver_cores",
        "writes_per_minute",
        "due_per_second",
        "made_per_second",
    ]
