"""The output: the report, its JSON, the table, and the caveats that limit the result."""

import json
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console
from tests.unit.measure.samples import SPECULATION, measurement, node, repeat, repeats, running

from specdec_command.measure.benchmark import Side
from specdec_command.measure.caveats import caveats
from specdec_command.measure.compare import Measurement, Repeat
from specdec_command.measure.report import document, markdown
from specdec_command.measure.requests import Sampling
from specdec_command.measure.table import render

FASTER = repeats((1.0, 1.1, 1.0, 0.9, 1.0), (2.0,) * 5)
UNCLEAR = repeats((1.0, 3.0, 1.0, 3.0, 1.0), (2.0,) * 5, concurrency=8)


def shown(found: Measurement) -> str:
    console = Console(width=160, no_color=True)
    with console.capture() as captured:
        console.print(render(found))
    return captured.get()


@pytest.mark.parametrize("told", [markdown, shown])
def test_the_conclusion_comes_with_its_interval(told: Any) -> None:
    """Resolved or not, at each concurrency, before anything else is claimed."""
    said = told(measurement((*FASTER, *UNCLEAR)))
    said = " ".join(said.split())
    assert "Conclusion: keep." in said
    assert (
        "With 1 request at once: keep: time to first token 1.00x (1.00 to 1.00) not resolved, time per output token "
        "2.00x (1.82 to 2.22), tokens/s 2.00x (1.82 to 2.22) (94 % sure)."
    ) in said
    assert "With 8 requests at once: not resolved: " in said
    assert "tokens/s 2.00x (0.67 to 2.00) not resolved (94 % sure)." in said


def test_slower_is_called_slower() -> None:
    """The tool takes no side."""
    said = markdown(measurement(repeats((2.0,) * 5, (1.0,) * 5)))
    assert "Conclusion: drop." in said
    assert "tokens/s 0.50x (0.50 to 0.50)" in said


@pytest.mark.parametrize(
    "words",
    [
        "2026-01-01 00:00:00+00:00",
        "| model | hf://meta/llama |",
        "| draft | hf://meta/draft |",
        "| method | draft_model, K 4 |",
        "vLLM 0.32.0, image registry.example/vllm:1 (sha256:1)",
        "| KServe | 0.20 |",
        "1, each with limits {nvidia.com/gpu 1}",
        "capacity cpu 8, nvidia.com/gpu 1",
        '"temperature": 0, "seed": 0, "ignore_eos": false',
        "2 prompts (code, digest 0123456789ab)",
        "3 warm-up requests",
        "The sides alternate",
        "API server's proxy",
        "  --model=/mnt/target/model",
        "OMP_NUM_THREADS=1",
        "| 1 | 4.00 | 1.00 | 1.00 | 0.50 | 0.50 |",
    ],
)
def test_the_report_carries_its_context(words: str) -> None:
    """Numbers without it are anecdotes."""
    assert words in markdown(measurement(FASTER))


def test_both_commands_are_written_out_as_a_shell_takes_them() -> None:
    """The first line is the entry point; each flag has a line of its own."""
    said = markdown(measurement(FASTER))
    assert f"python3 -m vllm \\\n  --model=/mnt/target/model \\\n  '{SPECULATION}'\n" in said
    assert "python3 -m vllm \\\n  --model=/mnt/target/model\n" in said


def test_the_json_has_every_repeat_and_no_answers() -> None:
    """Figures can be recomputed. Texts and names of nodes may be private."""
    found = json.loads(json.dumps(document(measurement(FASTER))))
    assert len(found["repeats"]) == 10
    assert found["repeats"][0]["answers"][0]["tokens"] == 11
    assert "text" not in found["repeats"][0]["answers"][0]
    assert "node_names" not in found["context"]["plain"]
    level = found["levels"][0]
    assert level["tokens_per_second"]["resolved"] is True
    assert (level["concurrency"], level["decision"], found["decision"]) == (1, "keep", "keep")
    assert level["speculating"]["drafting"]["rate"] == 0.75
    assert level["equal"]["share"] == 1
    assert found["request"]["temperature"] == 0
    assert found["notes"]


LOUD = measurement(repeats((1.0,) * 5, (2.0,) * 5, strangers=50.0))
UNLIKE = measurement(tuple(repeat(each.turn, text=each.turn.side.value) for each in FASTER))
HIGH = tuple(replace(each, drafting=replace(each.drafting, accepted=each.drafting.drafted * 0.9)) for each in FASTER)


def _filling(each: Repeat) -> Repeat:
    """More drafts; in later repeats of the speculating side more of the cache is in use, and less accepted."""
    accepted = 3000.0 if each.turn.repeat < 3 else 1000.0
    more = replace(each.drafting, drafts=1000.0, drafted=4000.0, accepted=accepted)
    return replace(each, drafting=more, cache_used=each.turn.repeat / 5)


FALLING = tuple(_filling(each) if each.turn.side is Side.SPECULATING else each for each in FASTER)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (measurement(FASTER, in_place=True), "were not interleaved"),
        (
            measurement(FASTER, plain=running("--x=1")),
            "differ by more than speculation: --x: not set with speculation, 1",
        ),
        (measurement(FASTER, plain=running(nodes=(node(kind="other"),))), "ran on different hardware"),
        (measurement(FASTER, plain=running()), "Both sides had pods on one node"),
        (measurement(FASTER, plain=running(pods=2)), "1 pods with speculation, 2 without"),
        (
            LOUD,
            "Other clients also sent requests to the plain side: its engines generated 360 tokens",
        ),
        (
            measurement(repeats((1.0,) * 5, (1.0,) * 5, drafted=0.0)),
            "With 1 request at once the engine drafted nothing",
        ),
        (UNLIKE, "0 of 10 greedy answers are the same on both sides. The baseline side repeats itself in 8 of 8"),
        (measurement(HIGH), "Acceptance is above 0.8 at every load: try a larger K, or use a stronger draft"),
        (
            measurement(FALLING),
            "With speculation the acceptance length falls from 4.00 to 2.00 tokens per step while the KV cache fills",
        ),
        (measurement(FASTER, sampling=Sampling(greedy=False)), "Answers were sampled"),
        (measurement(FASTER, method="suffix"), "Suffix decoding reuses earlier answers"),
        (measurement(FASTER, redone=("repeat 2: HTTP 503",)), "Discarded and repeated: repeat 2: HTTP 503"),
    ],
)
def test_what_weakens_the_numbers_is_shown(found: Measurement, words: str) -> None:
    """On the terminal, in the report and in the JSON, and never without the cause."""
    assert any(words in each for each in caveats(found))
    assert words in markdown(found)
    assert any(words in each for each in document(found)["notes"])
    assert not any(words in each for each in caveats(measurement(FASTER)))


def test_a_clean_measurement_has_the_two_remarks_that_always_hold() -> None:
    """The proxy, and prompts that the engine has seen."""
    assert len([*caveats(measurement(FASTER))]) == 2
