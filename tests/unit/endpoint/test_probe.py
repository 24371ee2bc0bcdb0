"""What is read of a server over real HTTP on loopback, and what each failure is called."""

import ssl
from pathlib import Path

import pytest
from hack.cluster import pki
from tests.hostile_http import Answer, Asked, HostileServer, answering, redirect, replying, silent, tls
from tests.unit.endpoint.engine_standin import COMPLETION, as_json, engine, page, recorded

from specdec_command.endpoint.probe import Endpoint, probe
from specdec_command.endpoint.seen import Seen
from specdec_operator.errors import Unavailable

PAGE = page(generated=10.0)
RIGHT, WRONG = "right", "wrong"


async def probed(answers: dict[str, Answer], *, generate: bool = False, seconds: float = 0.1, token: str = "") -> Seen:
    async with HostileServer(answers) as server:
        return await probe(Endpoint(url=server.url, timeout=1.0, token=token), seconds=seconds, generate=generate)


def trouble(seen: Seen, path: str) -> str:
    return next(f"{each.what}; {each.fix}" for each in seen.troubles if each.path == path)


async def test_a_recorded_engine_is_read_whole() -> None:
    """Version, models, an answer, and the counters at both ends of the window."""
    seen = await probed(engine(recorded("01-code-steady")), generate=True)
    assert (seen.version, [each.name for each in seen.models], seen.models[0].longest) == ("0.32.0", ["m"], 1024)
    assert seen.answer is not None
    assert (seen.answer.model, seen.answer.tokens) == ("m", 8)
    assert seen.troubles == ()
    assert seen.evidence is not None
    assert seen.evidence.acceptance_rate == pytest.approx(0.88, abs=0.005)


async def test_it_generates_only_if_it_may() -> None:
    """--no-generate sends no request that costs the server anything."""
    asked: list[Asked] = []

    def reply(request: Asked) -> tuple[int, str]:
        asked.append(request)
        return 200, COMPLETION.decode()

    assert (await probed(engine("", completions=replying(reply)))).answer is None
    assert asked == []
    assert (await probed(engine("", completions=replying(reply)), generate=True)).answer is not None
    (request,) = asked
    assert (request.json()["model"], request.json()["temperature"]) == ("m", 0)


async def test_a_server_of_chats_alone_is_asked_for_a_chat() -> None:
    """A gateway may pass on nothing else."""
    answers = engine(PAGE)
    del answers["/v1/completions"]
    answers["/v1/chat/completions"] = answering(COMPLETION)
    seen = await probed(answers, generate=True)
    assert seen.answer is not None
    assert seen.troubles == ()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (answering(b"", status=b"401 Unauthorized"), "HTTP 401; the server needs a token"),
        (
            answering(b"", status=b"404 Not Found"),
            "HTTP 404; the server has no such page; use the address of vLLM itself",
        ),
        (answering(b"engine dead", status=b"500 Internal Server Error"), "HTTP 500: engine dead; read the log"),
        (
            answering(b"<html>busy", status=b"503 Service Unavailable"),
            "HTTP 503; the server is overloaded or not up yet",
        ),
        (answering(b"", status=b"418 Teapot"), "HTTP 418; read the message"),
        (
            redirect(b"https://login.example/\x1b[31m"),
            "HTTP 302: it redirects to https://login.example/ [31m; use that",
        ),
        (answering(b"<!DOCTYPE html><html></html>\n"), "this is not an answer of vLLM: it is an HTML page"),
        (answering(b'{"detail": "x"}\n'), "it is JSON, so another program answers here"),
        (answering(b"go_goroutines 7\n"), "it has no line of vLLM (vllm:...)"),
        (answering(b"vllm:generation_tokens_total 7"), "the page ends in the middle of a line"),
        (answering(b"vllm:generation_tokens_total x\n"), "this is not an answer of vLLM"),
        (answering(b"vllm:num_requests_running 0\n"), "the page has no vllm:generation_tokens_total"),
        (
            answering(b"vllm:generation_tokens_total 7\nvllm:spec_decode_draft_acceptance_rate 0.7\n"),
            "vLLM's first engine, which ended with vLLM 0.10: use a newer vLLM",
        ),
        (answering(b"vllm:\xff\xfe\n"), "the answer is not text"),
        (answering(b"x" * (2 * 2**20 + 1)), "more than 2097152 bytes"),
        (silent, "no answer within 1 s"),
        (tls, "no connection"),
    ],
)
async def test_each_failure_of_the_metrics_is_a_sentence_with_a_fix(answer: Answer, words: str) -> None:
    """What the server sent is shown in one line and without control characters; the rest of the check goes on."""
    seen = await probed(engine("", metrics=answer), generate=True)
    assert words in trouble(seen, "/metrics")
    assert seen.answer is not None
    assert seen.readings == ()


@pytest.mark.parametrize(
    ("path", "answer", "words"),
    [
        ("/v1/models", as_json({"data": []}), "the answer has no list of models"),
        ("/v1/models", as_json([1]), "the answer has no list of models"),
        ("/version", as_json({}), "the answer has no version"),
        ("/version", answering(b"[" * 100_000), "the answer is not JSON"),
        ("/v1/completions", as_json({"choices": [{"text": ""}], "usage": {"completion_tokens": 0}}), "no generated"),
        ("/v1/completions", answering(b"no such model", status=b"400 Bad Request"), "HTTP 400: no such model; read"),
    ],
)
async def test_other_pages_are_not_trusted_either(path: str, answer: Answer, words: str) -> None:
    """Each by its own rule."""
    seen = await probed(engine("", **{path.rpartition("/")[2]: answer}), generate=True)
    assert words in trouble(seen, path)


async def test_a_server_that_is_not_there_is_silent() -> None:
    """One trouble a page, and nothing learnt."""
    seen = await probe(Endpoint(url="http://127.0.0.1:9"), seconds=0.1, generate=True)
    assert seen.silent
    assert "Connect call failed" in trouble(seen, "/metrics")


async def test_the_token_is_sent_and_a_wrong_one_is_named() -> None:
    """Over plain HTTP as well, because a port-forward is plain; it is in no representation."""

    def reply(asked: Asked) -> tuple[int, str]:
        return (200, PAGE) if asked.headers.get("authorization") == "Bearer right" else (401, "")

    assert (await probed(engine("", metrics=replying(reply)), token=RIGHT)).troubles == ()
    seen = await probed(engine("", metrics=replying(reply)), token=WRONG)
    assert "does not accept the token of --token-file" in trouble(seen, "/metrics")
    assert "wrong" not in repr(Endpoint(url="http://x", token=WRONG))


async def test_a_private_authority_is_trusted_by_its_file(tmp_path: Path) -> None:
    """Without the file the certificate is refused, and the fix names the option; a file without any is an error."""
    pki.self_signed(tmp_path, "engine", "/CN=localhost", names="DNS:localhost")
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(tmp_path / "engine.crt", tmp_path / "engine.key")
    async with HostileServer(engine(PAGE), tls=served) as server:
        url = f"https://localhost:{server.port}"
        ca = (tmp_path / "engine.crt").read_text()
        trusted = await probe(Endpoint(url=url, ca=ca), seconds=0.1, generate=False)
        refused = await probe(Endpoint(url=url), seconds=0.1, generate=False)
    assert trusted.troubles == ()
    assert "the certificate is not accepted" in trouble(refused, "/metrics")
    assert "--ca-file" in trouble(refused, "/metrics")
    with pytest.raises(Unavailable, match="--ca-file has no usable certificates"):
        await probe(Endpoint(url=url, ca="garbage"), seconds=0.1, generate=False)


async def test_a_read_that_fails_in_between_ends_nothing() -> None:
    """The window has the other readings, and the failure is reported once."""
    pages = iter([PAGE, "garbage\n", page(generated=30.0)])
    last = page(generated=30.0)
    seen = await probed(engine("", metrics=answering(lambda: next(pages, last).encode())), seconds=1.5)
    assert [each.path for each in seen.troubles] == ["/metrics"]
    assert seen.evidence is not None
    assert seen.evidence.generation_tokens == 20
