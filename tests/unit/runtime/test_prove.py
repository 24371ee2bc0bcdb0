"""specdec_runtime prove: the startup probe against a stand-in of vLLM's server that plays recorded answers."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.runtime.prove_standin import StandIn, serving

from specdec_engine import metrics
from specdec_runtime import __main__ as commands
from specdec_runtime import launch, prove


@pytest.fixture
def vllm() -> Iterator[StandIn]:
    with serving() as stand_in:
        yield stand_in


def run(vllm: StandIn, tmp_path: Path, method: str | None = None, seconds: float = 5.0, **noted: object) -> prove.Proof:
    plan = tmp_path / "plan.json"
    if method is not None:
        plan.write_text(json.dumps({"method": method, "tokens": 4, **noted}))
    return prove.prove(vllm.port, seconds, plan)


def test_a_server_that_generated_and_drafted_is_up(vllm: StandIn, tmp_path: Path) -> None:
    proof = run(vllm, tmp_path, "draft_model")
    assert proof.ok
    assert "27 drafts were verified" in proof.sentence


def test_it_generates_greedily_with_top_k_and_by_a_schema(vllm: StandIn, tmp_path: Path) -> None:
    """Each alone has been seen to pass on a server whose engine dies at another; none needs a chat template."""
    proof = run(vllm, tmp_path, "draft_model")
    greedy, sampled, structured = vllm.asked
    assert (greedy["temperature"], "top_k" in greedy) == (0, False)
    assert (sampled["temperature"], sampled["top_k"], sampled["top_p"]) == (0.8, 20, 0.95)
    assert "json_schema" in str(structured["response_format"])
    assert {request["model"] for request in vllm.asked} == {"m"}
    assert "greedy and sampled and structured generation answered; 27" in proof.sentence


@pytest.mark.parametrize(
    ("broken", "name", "asked"),
    [("temperature", "greedy", 1), ("top_k", "sampled", 2), ("response_format", "structured", 3)],
)
def test_a_server_that_dies_at_one_kind_of_request_is_not_up_and_the_sentence_names_it(
    vllm: StandIn, tmp_path: Path, broken: str, name: str, asked: int
) -> None:
    """The sentence has the server's own message, and no request follows."""
    vllm.broken_when = broken
    proof = run(vllm, tmp_path, "draft_model")
    assert not proof.ok
    assert proof.sentence == (
        f"not up: {name} generation: POST /v1/completions was answered with 500: EngineCore encountered an issue"
    )
    assert len(vllm.asked) == asked


def test_a_server_that_refuses_structured_output_is_up_and_that_is_noted(vllm: StandIn, tmp_path: Path) -> None:
    """Its clients learn the same; nothing is broken."""
    vllm.broken_when, vllm.broken = "response_format", (400, "structured output is off")
    proof = run(vllm, tmp_path, "draft_model")
    assert proof.ok
    assert "greedy and sampled generation answered; structured generation is not supported" in proof.sentence
    assert "structured output is off" in proof.sentence


def test_a_server_that_refuses_sampling_is_not_up(vllm: StandIn, tmp_path: Path) -> None:
    """Every client samples."""
    vllm.broken_when, vllm.broken = "top_k", (400, "not yet supported")
    assert not run(vllm, tmp_path, "draft_model").ok


def test_an_engine_that_dies_of_what_it_answered_is_not_up(vllm: StandIn, tmp_path: Path) -> None:
    """A connector that fails to write has been seen to do so."""
    vllm.broken_when, vllm.broken = "response_format", (200, "")
    proof = run(vllm, tmp_path, "draft_model")
    assert (proof.ok, "and then the engine died" in proof.sentence) == (False, True)


@pytest.mark.parametrize(("key", "ok"), [("abc", True), (None, False)])
def test_a_server_that_wants_a_key_is_asked_with_it(vllm: StandIn, tmp_path: Path, key: str | None, ok: bool) -> None:
    """The pod has it in VLLM_API_KEY; without it the sentence shows the server's refusal."""
    vllm.key = "abc"
    proof = prove.prove(vllm.port, 5, tmp_path / "plan.json", key)
    assert (proof.ok, "401" in proof.sentence) == (ok, not ok)


def test_a_plain_server_is_up_without_counters(vllm: StandIn, tmp_path: Path) -> None:
    vllm.speculates = False
    proof = run(vllm, tmp_path)
    assert proof.ok
    assert "no speculation configured" in proof.sentence


def test_configured_speculation_without_counters_is_not_up(vllm: StandIn, tmp_path: Path) -> None:
    vllm.speculates = False
    proof = run(vllm, tmp_path, "draft_model")
    assert not proof.ok
    assert "--disable-log-stats" in proof.sentence


@pytest.mark.parametrize("method", ["draft_model", None])
def test_a_draft_model_that_does_not_draft_is_not_up(vllm: StandIn, tmp_path: Path, method: str | None) -> None:
    """Without launch's note the method is unknown, and counters that stand still are still not a proof."""
    vllm.drafts_per_generation = 0
    proof = run(vllm, tmp_path, method)
    assert not proof.ok
    assert "did not increase over 3 generations" in proof.sentence


@pytest.mark.parametrize(
    ("method", "schedule", "why"),
    [
        ("ngram", None, "ngram found no match in the probe's prompt"),
        ("suffix", None, "suffix found no match in the probe's prompt"),
        ("custom_class", None, "custom_class decides in its own code when to draft"),
        ("extract_hidden_states", None, "extract_hidden_states reads the target's states and does not have to draft"),
        ("draft_model", [[1, 4, 0], [5, 64, 3]], "the schedule of tokens by batch size drafts no tokens"),
    ],
)
def test_a_healthy_server_that_has_no_reason_to_draft_is_up(
    vllm: StandIn, tmp_path: Path, method: str, schedule: object, why: str
) -> None:
    vllm.drafts_per_generation = 0
    proof = run(vllm, tmp_path, method, schedule=schedule)
    assert proof.ok
    assert f"no tokens were drafted: {why}" in proof.sentence


@pytest.mark.parametrize("schedule", [[[1, 4, 2], [5, 64, 0]], [[2, 4, 0]], [], "x", [[1]], [1]])
def test_a_schedule_that_drafts_for_one_request_excuses_nothing(
    vllm: StandIn, tmp_path: Path, schedule: object
) -> None:
    """The probe is alone."""
    vllm.drafts_per_generation = 0
    assert not run(vllm, tmp_path, "draft_model", schedule=schedule).ok


def test_before_the_server_listens_it_answers_at_once(vllm: StandIn, tmp_path: Path) -> None:
    vllm.port = 1
    started = time.monotonic()
    proof = run(vllm, tmp_path)
    assert (proof.ok, proof.sentence) == (False, "not up: nothing listens on port 1 yet")
    assert time.monotonic() - started < 1


def test_an_unhealthy_server_is_not_asked_to_generate(vllm: StandIn, tmp_path: Path) -> None:
    vllm.status["/health"] = 503
    assert not run(vllm, tmp_path).ok
    assert vllm.asked == []


def test_a_server_that_hangs_is_given_up_in_time(vllm: StandIn, tmp_path: Path) -> None:
    vllm.seconds = 0.5
    started = time.monotonic()
    assert not run(vllm, tmp_path, seconds=0.2).ok
    assert time.monotonic() - started < 0.5


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/v1/models", "{}"),
        ("/v1/models", "["),
        ("/v1/completions", "[]"),
        ("/v1/completions", "{"),
        ("/v1/completions", "{}"),
    ],
)
def test_an_answer_that_is_not_vllms_proves_nothing(vllm: StandIn, tmp_path: Path, path: str, text: str) -> None:
    vllm.answers[path] = text
    proof = run(vllm, tmp_path)
    assert not proof.ok
    assert path in proof.sentence


def test_the_command_ends_with_zero_only_when_the_server_is_up(
    vllm: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(launch, "plan_path", lambda: tmp_path / "plan.json")
    assert commands.main(["prove", f"--port={vllm.port}"]) == 0
    vllm.status["/health"] = 503
    assert commands.main(["prove", "--port", str(vllm.port)]) == 1
    assert [line.split(":")[0] for line in capsys.readouterr().out.splitlines()] == ["up", "not up"]


def test_counters_are_summed_over_engines_and_longer_names_are_not_counted() -> None:
    text = 'a_total{engine="0"} 1.0\na_total{engine="1"} 2.0\na_total_created{engine="0"} 9.0\n# HELP a_total x\n'
    assert metrics.total(text, "a_total") == 3.0
    assert metrics.total(text, "b_total") is None
    assert metrics.total("a_total 4\n", "a_total") == 4.0
