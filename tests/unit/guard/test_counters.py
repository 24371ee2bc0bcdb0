"""Reading vLLM's counters from a page of metrics."""

import gzip
import json
import pathlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.builders import counters

from specdec_operator.guard.counters import FAMILIES, Counters, SideCounters, counters_of, read_counters, restarted

TRACES = pathlib.Path(__file__).parents[2] / "data" / "traces"

PAGE = """\
# HELP vllm:spec_decode_num_drafts_total Number of spec decoding drafts.
# TYPE vllm:spec_decode_num_drafts_total counter
vllm:spec_decode_num_drafts_total{engine="0",model_name="m"} 10.0
vllm:spec_decode_num_drafts_total{engine="1",model_name="m"} 5.0
vllm:spec_decode_num_drafts_created{engine="0",model_name="m"} 1.79e+09
vllm:spec_decode_num_draft_tokens_total{engine="0",model_name="m"} 30
vllm:spec_decode_num_accepted_tokens_total{engine="0",model_name="m"} 12
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="m",position="0"} 8
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="1",model_name="m",position="0"} 1
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="m",position="2"} 3
vllm:generation_tokens_total{engine="0",model_name="m"} 22
vllm:inter_token_latency_seconds_sum{engine="0",model_name="m"} not a number
vllm:request_time_per_output_token_seconds_bucket{engine="0",le="0.01",model_name="m"} not a number
vllm:request_time_per_output_token_seconds_sum{engine="0",model_name="m"} 0.25
vllm:request_time_per_output_token_seconds_sum{engine="1",model_name="m"} 0.5
vllm:request_time_per_output_token_seconds_count{engine="0",model_name="m"} 3
vllm:request_time_per_output_token_seconds_count{engine="1",model_name="m"} 4
vllm:num_requests_running{engine="0",model_name="m"} 2
vllm:num_requests_running{engine="1",model_name="m"} 1
process_start_time_seconds 1.5e+09
"""
IDLE = """\
vllm:generation_tokens_total 22
vllm:spec_decode_num_drafts_total 0
vllm:spec_decode_num_draft_tokens_total 0
vllm:spec_decode_num_accepted_tokens_total 0
"""


def test_counters_are_summed_over_data_parallel_ranks() -> None:
    """One pod is one engine to the guard, however many ranks it has; lines of other families are not even parsed."""
    assert read_counters(PAGE) == Counters(
        drafts=15,
        draft_tokens=30,
        accepted_tokens=12,
        generation_tokens=22,
        accepted_per_position=(9, 0, 3),
        token_seconds=0.75,
        timed_tokens=7,
        requests=7,
        running=3,
        started=1.5e9,
        speculative=True,
    )


def test_the_start_of_a_pod_is_that_of_its_youngest_process() -> None:
    """A rank that restarted counts from zero, whatever the others do."""
    samples = [("process_start_time_seconds", {"rank": str(rank)}, at) for rank, at in enumerate((2.0, 9.0, 3.0))]
    assert counters_of([*samples, ("vllm:generation_tokens_total", {}, 1.0)]).started == 9.0


def test_an_engine_without_a_load_metric_has_an_unknown_load() -> None:
    """An unknown load is not zero."""
    assert read_counters("vllm:generation_tokens_total 1\n").running is None
    assert read_counters('vllm:generation_tokens_total 1\nvllm:num_requests_running{engine="0"} 0\n').running == 0


def test_a_page_without_the_families_is_not_a_page_with_zeros() -> None:
    """An engine that was started without speculation counts no drafts at all."""
    baseline = read_counters('vllm:generation_tokens_total{engine="0"} 22\n')
    assert (baseline.speculative, baseline.generation_tokens, baseline.started) == (False, 22, None)
    assert read_counters(IDLE).speculative


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("<html>it works</html>\n", "the page has no vllm:generation_tokens_total"),
        ("", "in the middle of a line"),
        (IDLE.rstrip("\n"), "in the middle of a line"),
        (IDLE.replace("drafts_total", "drafts"), "but not vllm:spec_decode_num_drafts_total"),
        (IDLE.replace("accepted", "taken"), "but not vllm:spec_decode_num_accepted_tokens_total"),
        (IDLE + "vllm:generation_tokens_total 22\n", "twice"),
        (IDLE + 'vllm:generation_tokens_total{a="' + "x" * 2048 + '"} 1\n', "more than 2048 characters"),
        (IDLE + "".join(f'vllm:generation_tokens_total{{a="{n}"}} 1\n' for n in range(10_000)), "262144 in all"),
    ],
    ids=["another", "empty", "cut-off", "no-drafts", "no-accepted", "twice", "long-line", "many-lines"],
)
def test_a_truncated_page_is_refused(page: str, words: str) -> None:
    """A missing counter was not counted, which is not the same as zero: a truncated page
    is not evidence against a draft.
    """
    with pytest.raises(ValueError, match=words):
        read_counters(page)


PER_POSITION = "vllm:spec_decode_num_accepted_tokens_per_pos_total"


@pytest.mark.parametrize(
    "line",
    [
        'vllm:generation_tokens_total{engine="0"} many',
        "vllm:generation_tokens_total{",
        'vllm:generation_tokens_total{engine="0"} NaN',
        'vllm:generation_tokens_total{engine="0"} +Inf',
        'vllm:generation_tokens_total{engine="0"} -1',
        "vllm:num_requests_running -1",
        "process_start_time_seconds NaN",
        PER_POSITION + '{engine="0"} 3',
        PER_POSITION + '{position="x"} 3',
        PER_POSITION + '{position="-1"} 3',
        PER_POSITION + '{position="999999999"} 3',
        PER_POSITION + '{position="128"} 3',
    ],
)
def test_a_broken_page_is_refused(line: str) -> None:
    """What cannot be a counter of vLLM's is missing data, not zero; and no page makes the operator grow."""
    with pytest.raises(ValueError, match=r"number|float|label|position|invalid literal"):
        read_counters(f"{IDLE}{line}\n")


@given(st.sampled_from(FAMILIES), st.text(alphabet='{}",=\\ 019abnNI+-.#e_:\t', max_size=30))
def test_garbage_is_refused_in_one_way(family: str, rest: str) -> None:
    """ValueError is what the scraper takes for a pod that did not answer."""
    try:
        read_counters(f"{IDLE}{family}{rest}\n")
    except ValueError:
        return


def test_a_recorded_page_reads_as_its_server_counted() -> None:
    """The first page of 01-code-steady, numbers read by eye."""
    with gzip.open(TRACES / "01-code-steady.jsonl.gz", "rt") as lines:
        page = json.loads(next(lines))["text"]
    assert read_counters(page) == Counters(
        drafts=20816,
        draft_tokens=83264,
        accepted_tokens=24280,
        generation_tokens=44987,
        accepted_per_position=(7654, 6550, 5319, 4757),
        token_seconds=3.0030266880451877,
        timed_tokens=433,
        requests=433,
        first_tokens=435,
        running=0,
        waiting=0,
        started=1.79522686884e9,
        speculative=True,
        side=SideCounters(first_token_seconds=12.130844354629517, preemptions=0, prompt_tokens=36385),
    )


DECODED = f"""\
{IDLE}vllm:request_time_per_output_token_seconds_sum 0.25
vllm:request_time_per_output_token_seconds_count 10
vllm:request_decode_time_seconds_sum 2.5
vllm:request_generation_tokens_count 10
vllm:request_generation_tokens_sum 60
vllm:time_to_first_token_seconds_count 11
"""


def test_decode_times_are_preferred_to_the_engines_mean_of_each_request() -> None:
    """The engine counts an answer of one token as 0 s a token. Decode times exclude such an answer."""
    found = read_counters(DECODED)
    assert (found.token_seconds, found.timed_tokens, found.requests, found.first_tokens) == (2.5, 50, 10, 11)


@pytest.mark.parametrize("name", ["decode_time_seconds_sum", "generation_tokens_count", "generation_tokens_sum"])
def test_a_page_that_lacks_part_of_them_is_read_by_the_means(name: str) -> None:
    """A scrape job may drop a series: half of a ratio is not used."""
    page = "".join(line for line in DECODED.splitlines(keepends=True) if f"request_{name}" not in line)
    found = read_counters(page)
    assert (found.token_seconds, found.timed_tokens, found.requests) == (0.25, 10, 10)


@pytest.mark.parametrize(
    ("change", "began_anew"),
    [
        ({}, False),
        ({"generation_tokens": 1000.0}, False),
        ({"started": 2.0e9}, True),
        ({"started": None}, False),
        ({"generation_tokens": 0.0}, True),
        ({"drafts": 9.0}, True),
        ({"draft_tokens": 39.0}, True),
        ({"accepted_tokens": 0.0}, True),
        ({"requests": 4.0}, True),
        ({"token_seconds": 0.9}, True),
        ({"running": 0.0}, False),
        ({"speculative": False}, True),
    ],
)
def test_an_engine_restarted_when_its_start_moved_or_a_counter_fell(
    change: dict[str, float | None], began_anew: bool
) -> None:
    """Counters only grow while a process lives. Without a start time only they show a restart."""
    before = counters(10, requests=5.0, token_seconds=1.0, running=3.0)
    assert restarted(before, replace(before, **change)) is began_anew
