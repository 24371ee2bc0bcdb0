"""Metrics over HTTPS and with a token: what services refer to is read by name, and never shown."""

import base64
import pathlib
import ssl
from collections.abc import Mapping
from typing import Any

import pytest
from hack.cluster import pki
from tests.hostile_http import Asked, HostileServer, replying

from specdec_operator.api.guard import Guard, PodSource
from specdec_operator.errors import OperatorError, Unavailable
from specdec_operator.guard.counters import Counters, Unread
from specdec_operator.kube.denial import denial
from specdec_operator.scrape.access import Access, AccessReader
from specdec_operator.scrape.pods import PodMetrics
from specdec_operator.scrape.source import MetricsSource

NAME = "llama.team-a.svc"
TOKEN = "a-token-of-team-a"  # noqa: S105
PAGE = 'vllm:generation_tokens_total{engine="0"} 22\n'
USER = "system:serviceaccount:specdec-system:specdec-operator"


class Objects:
    """What the API server has, by kind and name; or what it answers instead."""

    def __init__(self, **there: Mapping[str, str] | OperatorError) -> None:
        self.there = there
        self.asked: list[tuple[str, str, str]] = []

    async def find(self, manifest: dict[str, Any]) -> dict[str, Any] | None:
        """By kind; every name is there."""
        kind, meta = manifest["kind"], manifest["metadata"]
        self.asked.append((kind, meta["namespace"], meta["name"]))
        found = self.there.get(kind)
        if isinstance(found, OperatorError):
            raise found
        if found is None:
            return None
        secret = kind == "Secret"
        return {"data": {k: base64.b64encode(v.encode()).decode() if secret else v for k, v in found.items()}}


def source(**more: Any) -> PodSource:
    """One with all references."""
    spec = {"scheme": "HTTPS", "serverName": NAME, "caConfigMap": {"name": "ca", "key": "ca.crt"}}
    return PodSource.model_validate(spec | {"tokenSecret": {"name": "metrics", "key": "token"}} | more)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A folder with a certificate that is its own authority, for one name, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    pki.self_signed(folder, "pod", f"/CN={NAME}", names=f"DNS:{NAME}")
    return folder


def certificate(pair: pathlib.Path) -> str:
    """In PEM."""
    return (pair / "pod.crt").read_text()


async def read(pair: pathlib.Path, objects: Objects, reply: tuple[int, str] = (200, PAGE), **more: Any) -> Any:
    """One reading of a pod with that certificate: its reading, and the headers that came to the pod."""
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(pair / "pod.crt", pair / "pod.key")
    came: list[Mapping[str, str]] = []

    def answer(asked: Asked) -> tuple[int, str]:
        came.append(asked.headers)
        return reply

    pods = PodMetrics(timeout=5.0, limit=2)
    reader = MetricsSource(pods, None, AccessReader(objects, lambda: 0.0), clock=lambda: 0.0, local=True)  # type: ignore[arg-type]
    async with HostileServer(replying(answer), tls=served) as server:
        how = source(**more).model_dump(by_alias=True, exclude_none=True) | {"port": server.port}
        guard = Guard.model_validate({"source": {"pods": how}})
        readings = await reader.read(guard, {"pod-0": server.address}, namespace="team-a")
    await pods.close()
    return readings["pod-0"], came


async def test_a_pod_is_read_over_https_with_its_token(pair: pathlib.Path) -> None:
    """Its certificate is for a name and not for its address."""
    objects = Objects(ConfigMap={"ca.crt": certificate(pair)}, Secret={"token": f"{TOKEN}\n"})
    reading, came = await read(pair, objects)
    assert isinstance(reading, Counters)
    assert reading.generation_tokens == 22
    assert [each["authorization"] for each in came] == [f"Bearer {TOKEN}"]
    assert objects.asked == [("ConfigMap", "team-a", "ca"), ("Secret", "team-a", "metrics")]


@pytest.mark.parametrize(
    "more",
    [{"serverName": "other.team-a.svc"}, {"caConfigMap": None}, {"serverName": None}],
    ids=lambda each: next(iter(each)),
)
async def test_a_pod_with_another_certificate_gets_no_token(pair: pathlib.Path, more: dict[str, Any]) -> None:
    """For another name, of an authority that is not trusted, or not for the address: the connection ends before."""
    objects = Objects(ConfigMap={"ca.crt": certificate(pair)}, Secret={"token": TOKEN})
    reading, came = await read(pair, objects, **more)
    assert isinstance(reading, Unread)
    assert "set serverName and caConfigMap of guard.source.pods" in reading.words
    assert came == []


@pytest.mark.parametrize("status", [401, 403])
async def test_a_pod_that_wants_another_token_is_reported(pair: pathlib.Path, status: int) -> None:
    """With the field that names the token, and without the token."""
    objects = Objects(ConfigMap={"ca.crt": certificate(pair)}, Secret={"token": TOKEN})
    reading, _ = await read(pair, objects, reply=(status, "no"))
    assert isinstance(reading, Unread)
    assert f"HTTP {status}: /metrics needs a token" in reading.words
    assert "guard.source.pods.tokenSecret" in reading.words
    assert TOKEN not in reading.words


def forbidden(resource: str, name: str) -> OperatorError:
    """The API server's refusal, as the client translates it."""
    answer = f'{resource} "{name}" is forbidden: User "{USER}" cannot get resource "{resource}" in API group ""'
    return denial(answer, f"{resource} {name}", final=False)


async def test_a_missing_permission_is_reported_with_the_commands_that_grant_this_secret_alone() -> None:
    """The operator has no permission for Secrets: a Role of the namespace grants one by name."""
    objects = Objects(ConfigMap={"ca.crt": "x"}, Secret=forbidden("secrets", "metrics"))
    with pytest.raises(Unavailable) as refused:
        await AccessReader(objects, lambda: 0.0).of("team-a", source(caConfigMap=None))
    role = "specdec-metrics-metrics"
    assert refused.value.message == (
        "guard.source.pods.tokenSecret: Secret team-a/metrics: the operator may not read it: run "
        f"`kubectl -n team-a create role {role} --verb=get --resource=secrets --resource-name=metrics` and "
        f"`kubectl -n team-a create rolebinding {role} --role={role} --serviceaccount=specdec-system:specdec-operator`"
    )


@pytest.mark.parametrize(
    ("there", "words"),
    [
        ({}, "guard.source.pods.caConfigMap: ConfigMap team-a/ca does not exist"),
        ({"ConfigMap": {"tls.crt": "x"}}, "ConfigMap team-a/ca has nothing at key ca.crt"),
        ({"ConfigMap": {"ca.crt": " \n"}}, "ConfigMap team-a/ca has nothing at key ca.crt"),
        ({"ConfigMap": {"ca.crt": "x" * 65537}}, "ca.crt has 65537 characters, at most 65536 are read"),
        ({"ConfigMap": {"ca.crt": "not PEM"}}, "key ca.crt of ConfigMap team-a/ca has no usable certificates in PEM"),
        ({"ConfigMap": Unavailable("ApiServerUnavailable", "no answer")}, "ConfigMap team-a/ca: no answer"),
    ],
    ids=["no object", "no key", "empty", "too long", "not PEM", "no answer"],
)
async def test_what_a_reference_lacks_is_reported_with_the_field(there: Any, words: str) -> None:
    """No empty text is used: the certificates of the image, or no token, would be used instead."""
    with pytest.raises(Unavailable) as refused:
        await AccessReader(Objects(**there), lambda: 0.0).of("team-a", source(tokenSecret=None))
    assert words in refused.value.message


@pytest.mark.parametrize("token", ["two words", "a\r\nX-Other: b", "ä"])
async def test_a_token_that_no_header_can_carry_is_refused_without_being_shown(token: str) -> None:
    """A line break would begin another header."""
    with pytest.raises(Unavailable) as refused:
        await AccessReader(Objects(Secret={"token": token}), lambda: 0.0).of("team-a", source(caConfigMap=None))
    assert "key token of Secret team-a/metrics has spaces, line breaks" in refused.value.message
    assert token not in refused.value.message


async def test_references_are_read_again_after_a_minute_and_after_a_failure_sooner() -> None:
    """A pod is read each few seconds; a new token is used a minute after it is there."""
    now, objects = [0.0], Objects()
    reader = AccessReader(objects, lambda: now[0])

    async def token() -> str:
        try:
            return (await reader.of("team-a", source(caConfigMap=None))).token
        except Unavailable:
            return "none"

    told = []
    for at, there in [
        (0.0, {}),
        (14.0, {"token": "1"}),
        (15.0, {"token": "1"}),
        (74.0, {"token": "2"}),
        (75.0, {"token": "2"}),
    ]:
        now[0], objects.there = at, {"Secret": there} if there else {}
        told.append(await token())
    assert told == ["none", "none", "1", "1", "2"]
    assert len(objects.asked) == 3


async def test_plain_http_is_read_without_any_reference() -> None:
    """The default, and a port alone."""
    objects = Objects()
    reader = AccessReader(objects, lambda: 0.0)
    assert await reader.of("team-a", None) == Access()
    assert (await reader.of("team-a", PodSource(port=9000))).port == 9000
    assert objects.asked == []


def test_a_token_is_not_in_a_representation() -> None:
    """Which ends in logs and tracebacks."""
    assert TOKEN not in repr(Access(token=TOKEN))
