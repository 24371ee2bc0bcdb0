"""The sources of counters: the pods, or the Prometheus server that a guard names and the operator may read from."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.hostile_http import HostileServer, answering

from specdec_operator.api.guard import Guard, Prometheus
from specdec_operator.errors import Invalid
from specdec_operator.guard.counters import Counters, Unread
from specdec_operator.scrape.access import AccessReader
from specdec_operator.scrape.pods import PodMetrics
from specdec_operator.scrape.source import MetricsSource, is_local, refuse_source

PLAIN = AccessReader(None, lambda: 0.0)  # type: ignore[arg-type]
"""No service of these tests refers to certificates or a token."""
SOURCE = {"source": {"prometheus": {"url": "http://prometheus:9090"}}}


class Asked:
    """Stands for both readers; keeps what it is asked for."""

    def __init__(self) -> None:
        self.urls: dict[str, str] = {}
        self.query: dict[str, Any] = {}

    async def read(self, *words: Any, **more: Any) -> dict[str, Counters | None]:
        """A scraper is given a namespace and addresses; a Prometheus reader a server, a namespace, names and a time."""
        if isinstance(words[0], Prometheus):
            self.query = {"url": words[0].url, "namespace": words[1], "pods": list(words[2]), **more}
            return {}
        self.urls = dict(words[1])
        return {}


async def read(guard: dict[str, Any], pods: Mapping[str, str]) -> tuple[Asked, Asked]:
    """One look; the scraper and the Prometheus reader afterwards."""
    scraper, prometheus = Asked(), Asked()
    readers = MetricsSource(scraper, prometheus, PLAIN, clock=lambda: 1000.0)  # type: ignore[arg-type]
    await readers.read(Guard.model_validate(guard), pods, namespace="team-a")
    return scraper, prometheus


@pytest.mark.parametrize(
    ("address", "url"),
    [("10.0.0.7", "http://10.0.0.7:8080/metrics"), ("fd00::7", "http://[fd00::7]:8080/metrics")],
)
async def test_a_pod_is_asked_at_its_address(address: str, url: str) -> None:
    """An IPv6 address stands in brackets; no server is asked."""
    scraper, prometheus = await read({}, {"pod-0": address})
    assert (scraper.urls, prometheus.query) == ({"pod-0": url}, {})


@pytest.mark.parametrize(
    ("address", "local", "asked"),
    [
        ("127.0.0.1", False, False),
        ("::1", False, False),
        ("::ffff:127.0.0.1", False, False),
        ("169.254.169.254", False, False),
        ("::ffff:169.254.169.254", True, False),
        ("fe80::1", True, False),
        ("0.0.0.0", True, False),
        ("224.0.0.1", True, False),
        ("metadata.internal", True, False),
        ("10.0.0.7@169.254.169.254", True, False),
        ("127.0.0.1", True, True),
        ("10.0.0.7", False, True),
        ("fd00::7", False, True),
    ],
)
async def test_an_address_that_no_pod_has_is_not_asked(address: str, local: bool, asked: bool) -> None:
    """The operator's host, its link, and no address at all; a cluster on one machine may have pods on loopback."""
    scraper = Asked()
    readers = MetricsSource(scraper, Asked(), PLAIN, clock=lambda: 1000.0, local=local)  # type: ignore[arg-type]
    found = await readers.read(Guard(), {"pod-0": address}, namespace="team-a")
    assert bool(scraper.urls) is asked
    if not asked:
        unread = found["pod-0"]
        assert isinstance(unread, Unread)
        assert address in unread.words


@pytest.mark.parametrize(("size", "read_whole"), [(16 * 1024, True), (16 * 1024 + 1, False)])
async def test_of_the_page_of_the_dial_so_much_is_read(size: int, read_whole: bool) -> None:
    """All pods of a service are read at once, and what they answer is kept together."""
    async with HostileServer({"/specdec/dial": answering(b" " * size)}) as server:
        url = urlsplit(server.url)
        pods = PodMetrics(timeout=5.0, limit=2)
        readers = MetricsSource(pods, Asked(), PLAIN, clock=lambda: 1000.0, local=True)  # type: ignore[arg-type]
        page = await readers.dial("team-a", url.hostname or "", port=url.port or 0)
        await pods.close()
    assert (page is not None) is read_whole


@pytest.mark.parametrize(
    ("server", "local"),
    [
        ("https://127.0.0.1:6443", True),
        ("https://localhost:6443", True),
        ("https://[::1]:6443", True),
        ("https://10.96.0.1:443", False),
        ("https://kubernetes.default.svc", False),
        ("", False),
    ],
)
def test_a_cluster_is_on_this_machine_where_its_api_server_is(server: str, local: bool) -> None:
    """Inside a cluster it never is: pods are given its Service's address."""
    assert is_local(server) is local


async def test_a_server_is_asked_for_samples_that_are_two_intervals_old_at_most() -> None:
    """Older ones do not show the present state; no pod is read."""
    scraper, prometheus = await read(SOURCE | {"interval": "20s"}, {"pod-0": "10.0.0.7"})
    assert scraper.urls == {}
    assert prometheus.query == {
        "url": "http://prometheus:9090",
        "namespace": "team-a",
        "pods": ["pod-0"],
        "since": 960.0,
    }


@pytest.mark.parametrize(
    ("guard", "urls"), [({}, ("http://other:9090",)), ({}, ()), (SOURCE, ("*",)), (SOURCE, ("http://prometheus:9090",))]
)
def test_what_the_operator_may_ask_is_not_refused(guard: dict[str, Any], urls: tuple[str, ...]) -> None:
    """A server that is named, every one by a star, and pods without any setting."""
    refuse_source(Guard.model_validate(guard), urls)


@pytest.mark.parametrize("urls", [(), ("http://other:9090",)])
def test_a_server_that_the_operator_may_not_ask_is_refused_by_its_field(urls: tuple[str, ...]) -> None:
    """With the field, the value, and the setting that would allow it; by default no server is asked."""
    with pytest.raises(Invalid, match="SPECDEC_PROMETHEUS_URLS") as refused:
        refuse_source(Guard.model_validate(SOURCE), urls)
    assert (refused.value.field, refused.value.value) == (
        "spec.guard.source.prometheus.url",
        "http://prometheus:9090",
    )
