"""The page as a server on loopback: who may read it, what it answers, and what it never shows."""

import json
import logging
import socket
from collections.abc import AsyncIterator

import aiohttp.web
import pytest
from tests.ports import free_port
from tests.unit.web.samples import CASES, NOW, fleet, sample

from specdec_operator.errors import OperatorError
from specdec_operator.settings import read_settings
from specdec_operator.web.server import WebServer, is_known
from specdec_operator.web.store import ServiceStore


@pytest.fixture
async def base() -> AsyncIterator[str]:
    """A server that has seen every sample; its address."""
    server, port = WebServer(fleet(), names=("specdec.example.com",), clock=NOW.timestamp), free_port()
    await server.start("127.0.0.1", port)
    yield f"http://127.0.0.1:{port}"
    await server.stop()


async def ask(address: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], str]:
    async with aiohttp.ClientSession() as session, session.request(method, address, headers=headers) as answer:
        return answer.status, dict(answer.headers), await answer.text()


PATHS = ("/", "/services/team-b/watching", "/api/v1/services", "/api/v1/services/team-b/watching", "/style.css")


@pytest.mark.parametrize("path", [*PATHS, "/refresh.js", "/icon.svg", "/nothing", "/services/a/b", "/api/nothing"])
async def test_every_answer_has_headers_that_trust_nothing_else(base: str, path: str) -> None:
    """No foreign or inline script, no frame, no cache, no guessing of types; errors included."""
    status, headers, _ = await ask(base + path)
    assert status == (200 if path in PATHS or path in ("/refresh.js", "/icon.svg") else 404)
    assert headers["Content-Security-Policy"].startswith("default-src 'none'; ")
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert (headers["Cache-Control"], headers["X-Content-Type-Options"]) == ("no-store", "nosniff")
    assert (headers["X-Frame-Options"], headers["Referrer-Policy"]) == ("DENY", "no-referrer")
    assert "Python" not in headers["Server"]


@pytest.mark.parametrize("path", [*PATHS, "/nothing"])
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
async def test_nothing_but_reading_is_allowed(base: str, path: str, method: str) -> None:
    """Wherever it is tried; the answer names what is."""
    status, headers, text = await ask(base + path, method)
    assert (status, headers["Allow"]) == (405, "GET, HEAD")
    assert f"{method}: this page is read-only" in text


async def test_a_head_is_a_get_without_its_body(base: str) -> None:
    """Probes and proxies ask so."""
    whole, short = await ask(base), await ask(base, "HEAD")
    assert (short[0], short[2]) == (200, "")
    assert short[1]["Content-Length"] == whole[1]["Content-Length"]


@pytest.mark.parametrize(
    ("host", "known"),
    [
        ("localhost", True),
        ("LOCALHOST:8081", True),
        ("127.0.0.1:8081", True),
        ("[::1]:8081", True),
        ("10.1.2.3", True),
        ("specdec.example.com", True),
        ("Specdec.Example.com:443", True),
        ("evil.example.com", False),
        ("localhost.evil.example.com", False),
        ("127.0.0.1.evil.example.com", False),
        ("evil.example.com@127.0.0.1", False),
        ("127.0.0.1/evil", False),
        ("[::1", False),
        ("", False),
    ],
)
def test_only_names_of_its_own_are_answered(host: str, known: bool) -> None:
    """A stranger's name that points here is a stranger's page that wants to read this one."""
    assert is_known(host, ("specdec.example.com",)) is known


async def test_a_strangers_name_is_refused_with_the_way_out(base: str) -> None:
    """The answer shows nothing of the fleet."""
    status, _, text = await ask(base, Host="evil.example.com")
    assert (status, "SPECDEC_WEB_HOSTS" in text, "team-a" in text) == (403, True, False)


async def test_the_data_are_those_of_the_page_and_answer_the_same_question(base: str) -> None:
    """All services; one phase; one service; one that is not there."""
    rows = json.loads((await ask(f"{base}/api/v1/services"))[2])["services"]
    assert sorted(row["name"] for row in rows) == sorted(CASES)
    some = json.loads((await ask(f"{base}/api/v1/services?phase=RolledBack&sort=name"))[2])["services"]
    assert [row["name"] for row in some] == ["rolled-back", "last-good"]
    one = json.loads((await ask(f"{base}/api/v1/services/team-b/watching"))[2])
    assert one["metadata"]["name"] == "watching"
    assert (await ask(f"{base}/api/v1/services/team-z/watching"))[0] == 404


async def test_a_missing_address_gets_a_page_with_a_way_back(base: str) -> None:
    status, _, text = await ask(f"{base}/services/team-a/gone")
    assert (status, 'href="../../"' in text, "Deleted services" in text) == (404, True, True)


async def test_places_where_people_write_secrets_are_not_shown(base: str) -> None:
    """The page leaves out the environment, the arguments and the pod, and annotations of others."""
    seen = ServiceStore(lambda _: ())
    body = sample(
        "watching", annotations={"kubectl.kubernetes.io/last-applied-configuration": "s3cret", "specdec.io/hold": "x"}
    )
    secret = [{"name": "TOKEN", "value": "s3cret"}]
    body["spec"] |= {
        "engine": {"accelerator": "cpu", "env": secret, "args": ["--api-key=s3cret"], "image": "s3cret"},
        "staging": {"env": secret},
        "pod": {"annotations": {"a": "s3cret"}},
        "resources": {"s3cret": 1},
    }
    seen.note(body, deleted=False)
    server, port = WebServer(seen, clock=NOW.timestamp), free_port()
    await server.start("127.0.0.1", port)
    try:
        for path in ("/", "/services/team-a/llama", "/api/v1/services", "/api/v1/services/team-a/llama"):
            status, _, text = await ask(f"http://127.0.0.1:{port}{path}")
            assert (status, "s3cret" in text) == (200, False), path
    finally:
        await server.stop()


def test_a_deleted_service_is_forgotten() -> None:
    seen = fleet()
    seen.note(sample("watching", name="watching", namespace="team-b"), deleted=True)
    seen.forget(("team-a", "fresh"))
    assert {row.name for row in seen.rows()} == {*CASES} - {"watching", "fresh"}
    assert seen.one("team-b", "watching") is None


async def test_a_port_that_is_taken_costs_the_page_and_not_the_guard(caplog: pytest.LogCaptureFixture) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        server = WebServer(fleet(), clock=NOW.timestamp)
        with caplog.at_level(logging.ERROR):
            await server.start("127.0.0.1", taken.getsockname()[1])
        await server.stop()
    assert "the web page is not served; set a free port" in caplog.text


async def test_without_a_port_nothing_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    settings, begun = read_settings({}), []
    monkeypatch.setattr(aiohttp.web.TCPSite, "start", begun.append)
    server = WebServer(fleet(), clock=NOW.timestamp)
    await server.start(settings.web_address, settings.web_port)
    assert (settings.web_address, settings.web_port, begun) == ("127.0.0.1", 0, [])
    await server.stop()


def test_the_settings_of_the_page_are_read() -> None:
    environ = {"SPECDEC_WEB_PORT": "8081", "SPECDEC_WEB_ADDRESS": "::1", "SPECDEC_WEB_HOSTS": "a.example.com, b"}
    settings = read_settings(environ)
    assert (settings.web_port, settings.web_address, settings.web_hosts) == (8081, "::1", ("a.example.com", "b"))
    with pytest.raises(OperatorError, match="SPECDEC_WEB_PORT='on': write a whole number"):
        read_settings({"SPECDEC_WEB_PORT": "on"})
