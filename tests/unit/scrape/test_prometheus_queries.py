"""What a Prometheus server is asked, and what its answer proves: the counters of one scrape, whole, or nothing."""

import json
import pathlib
import re
from collections.abc import Iterable, Mapping
from math import inf, nan
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from specdec_operator.api.guard import Guard, Prometheus
from specdec_operator.guard.counters import FAMILIES, Counters, counters_of
from specdec_operator.guard.dips import ACCEPTED, SERIES
from specdec_operator.scrape.prometheus import allowed, query, readings, span

Own = tuple[str, tuple[tuple[str, str], ...]]
Page = dict[Own, float]
Seen = tuple[Mapping[str, str], float, Page]

SOURCE = Prometheus(url="http://prometheus:9090")
JOB = {"job": "engines", "instance": "10.0.0.1:8080", "namespace": "ns", "pod": "a"}
OTHER_JOB = JOB | {"job": "everything"}
STARTED: Own = ("process_start_time_seconds", ())


def page(tokens: float, *, ranks: int = 1, started: float | None = 50.0, speculative: bool = True) -> Page:
    """An engine's page after a number of tokens in each rank; half of the drafted ones were accepted."""
    made: Page = {} if started is None else {STARTED: started}
    for rank in range(ranks):
        own = (("engine", str(rank)), ("model_name", "m"))
        values = {"generation_tokens_total": tokens, "num_requests_running": 1.0}
        values |= {f"request_time_per_output_token_seconds_{part}": tokens / 10 for part in ("sum", "count")}
        if speculative:
            counted = {"drafts": tokens / 2, "draft_tokens": tokens, "accepted_tokens": tokens / 2}
            values |= {f"spec_decode_num_{name}_total": value for name, value in counted.items()}
            for position in ("0", "1"):
                name = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
                made[name, (*own, ("position", position))] = tokens / 4
        made |= {(f"vllm:{name}", own): value for name, value in values.items()}
    return made


def without(whole: Page, *words: str) -> Page:
    """A page that lacks the series with one of these words in their name or labels."""
    return {own: value for own, value in whole.items() if not any(word in str(own) for word in words)}


def counters(whole: Page) -> Counters:
    return counters_of((name, dict(labels), value) for (name, labels), value in whole.items())


def answer(*seen: Seen) -> bytes:
    """The server's answer after these scrapes: target labels, time, page."""
    series: dict[tuple[tuple[str, str], ...], list[tuple[float, str]]] = {}
    for target, time, shown in seen:
        for (name, labels), value in shown.items():
            metric = {"__name__": name} | dict(target) | dict(labels)
            series.setdefault(tuple(metric.items()), []).append((time, str(value)))
    result = [{"metric": dict(metric), "values": values} for metric, values in series.items()]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}}).encode()


def read(*seen: Seen, since: float = 100.0, source: Prometheus = SOURCE) -> Counters | None:
    return readings(answer(*seen), source, ["a"], since=since)["a"]


def test_a_sample_that_is_not_newer_than_asked_gives_no_reading() -> None:
    """An old number is not what the pod shows now: a pod that hangs or went has no newer one."""
    assert read((JOB, 100.0, page(10))) is None
    assert read((JOB, 100.001, page(10))) is not None
    assert read() is None


def test_every_pod_that_was_asked_for_is_named() -> None:
    seen = [(JOB | {"pod": pod}, 101.0, page(10)) for pod in ("a", "b", "stranger")]
    found = readings(answer(*seen), SOURCE, ["a", "b", "c"], since=100.0)
    assert found == {"a": counters(page(10)), "b": counters(page(10)), "c": None}


def test_ranks_are_summed_and_jobs_are_not() -> None:
    """engine="0" and "1" are two parts of one pod; two jobs are two looks at the same."""
    whole = page(10, ranks=2)
    reading = read((JOB, 101.0, whole), (OTHER_JOB, 101.5, page(11, ranks=2)))
    assert reading == counters(page(11, ranks=2))
    assert reading is not None
    assert reading.generation_tokens == 22


def test_the_labels_of_the_step_clock_do_not_name_a_target() -> None:
    """Its series are of the same pod, whatever their tokens and batch."""
    clock = (("tokens", "4"), ("batch", "8"))
    whole = page(10) | {(each, (*clock, ("dip", dip))): 3.0 for each in SERIES if "dip" in each for dip in "02"}
    whole |= {(ACCEPTED, (*clock, ("position", place), ("prompt", "false"))): 5.0 for place in "01"}
    whole |= {(each, (*clock, ("prompt", "false"))): 2.0 for each in SERIES if "dip" not in each}
    reading = read((JOB, 101.0, whole))
    assert reading == counters(whole)
    assert reading is not None
    assert (reading.dips[4, 8].dips, reading.dips[4, 8].seconds) == (3.0, 2.0)
    assert reading.other_dips.dips[4, 8, 2].dips == 3.0
    assert reading.other_dips.accepted == {(4, 8): (5.0, 5.0)}


@pytest.mark.parametrize("label", ["prometheus_replica", "replica", "cluster", "endpoint"])
def test_two_servers_that_scrape_the_same_pod_are_one_look(label: str) -> None:
    """A pair for availability, or a store over both: the newer of the two is read."""
    seen = [(JOB | {label: "0"}, 101.0, page(10)), (JOB | {label: "1"}, 101.4, page(14))]
    assert read(*seen) == counters(page(14))


def test_a_look_never_goes_back_in_time() -> None:
    """However late one of two servers is, what was read before is not read again as if it were new."""
    fast, slow = JOB | {"replica": "0"}, JOB | {"replica": "1"}
    seen = [(fast, 101.0 + step, page(10 + step)) for step in range(5)]
    seen += [(slow, 101.5 + step, page(10.5 + step)) for step in range(5)]
    found = [read(*seen[:number], since=0.0) for number in range(1, len(seen) + 1)]
    tokens = [each.generation_tokens for each in found if each]
    assert tokens == sorted(tokens)


def test_one_job_that_drops_series_is_not_read_where_another_has_them() -> None:
    """Relabelling may drop all speculation counters: that is not an engine without speculation."""
    seen = [(JOB, 101.0, page(10)), (OTHER_JOB, 101.5, without(page(11), "spec_decode"))]
    assert read(*seen) == counters(page(10))
    assert read(*seen, since=101.2) is None


def test_two_targets_without_a_start_time_are_not_read() -> None:
    """They may be one process or two; one target alone is one."""
    seen = [(JOB, 101.0, page(10, started=None)), (OTHER_JOB, 101.5, page(11, started=None))]
    assert read(*seen) is None
    assert read(seen[0]) == counters(page(10, started=None))


@pytest.mark.parametrize("lost", ["drafts_total", "accepted_tokens_total", "per_pos", "seconds_sum", "generation"])
def test_half_a_page_is_seen_by_itself(lost: str) -> None:
    """No earlier scrape is needed: families that an engine always shows together must be together."""
    assert read((JOB, 101.0, without(page(10), lost))) is None


def test_ranks_that_differ_are_not_a_whole_page() -> None:
    """One rank's series came, the other's not yet."""
    half = {own: value for own, value in page(10, ranks=2).items() if "'1'" not in str(own) or "generation" in own[0]}
    assert read((JOB, 101.0, half)) is None


@pytest.mark.parametrize("value", [nan, inf, -1.0])
def test_a_value_that_no_counter_has_gives_no_reading(value: float) -> None:
    odd = {own: value if "draft_tokens" in own[0] else each for own, each in page(10).items()}
    seen = [(JOB, 101.0, odd), (JOB | {"pod": "b"}, 101.0, page(10))]
    assert readings(answer(*seen), SOURCE, ["a", "b"], since=100.0) == {"a": None, "b": counters(page(10))}


BAD = {
    "refused": {"status": "error", "errorType": "bad_data", "error": "no"},
    "present values": {"status": "success", "data": {"resultType": "vector", "result": []}},
    "no data": {"status": "success"},
    "labels that are numbers": {
        "status": "success",
        "data": {"resultType": "matrix", "result": [{"metric": {"a": 1}}]},
    },
    "values that are words": {
        "status": "success",
        "data": {"resultType": "matrix", "result": [{"metric": {"pod": "a"}, "values": [[1, "many"]]}]},
    },
    "a list": [],
}


@pytest.mark.parametrize(
    "body",
    [
        *(json.dumps(each).encode() for each in BAD.values()),
        *(b"", b"<html>", b"\xff\xfe", b"[" * 100_000, b'{"status":"success"'),
    ],
    ids=[*BAD, "empty", "a page", "bytes", "deep", "torn"],
)
def test_a_text_that_is_not_an_answer_is_refused(body: bytes) -> None:
    """As a ValueError, which the reader takes for no answer."""
    with pytest.raises(ValueError, match="validation error"):
        readings(body, SOURCE, ["a"], since=0.0)


def test_series_without_samples_give_no_reading() -> None:
    """A native histogram has none of the samples that are read here."""
    metric = {"__name__": "vllm:generation_tokens_total"} | JOB
    histogram = {"metric": metric, "histograms": [[101, {"count": "1", "sum": "1"}]]}
    body = {"status": "success", "data": {"resultType": "matrix", "result": [histogram]}}
    assert readings(json.dumps(body).encode(), SOURCE, ["a"], since=0.0) == {"a": None}


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.sampled_from(["metric", "values", "pod"]), each),
)


@given(result=st.lists(JSON, max_size=4))
def test_no_answer_breaks_the_reader(result: list[Any]) -> None:
    """Whatever the server sends: a reading, none, or a ValueError."""
    body = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}}).encode()
    try:
        assert set(readings(body, SOURCE, ["a"], since=0.0)) == {"a"}
    except ValueError as error:
        assert "validation error" in str(error)  # noqa: PT017 - either end is right


@given(data=st.data(), scrapes=st.integers(2, 5), ranks=st.integers(1, 2), since=st.integers(99, 106))
def test_a_reading_is_one_whole_scrape_or_none(data: st.DataObject, scrapes: int, ranks: int, since: int) -> None:
    """Whatever series are missing from whatever scrapes, numbers of two scrapes are never put together."""
    whole = data.draw(st.integers(0, scrapes - 1), label="the scrape that is whole")
    seen: list[Seen] = []
    for number in range(scrapes):
        full = page(10 * (number + 1), ranks=ranks)
        lost = data.draw(st.sets(st.sampled_from(sorted(full)), max_size=4)) if number != whole else set()
        seen.append((JOB, 101.0 + number, {own: value for own, value in full.items() if own not in lost}))
    fresh = [(time, shown) for _, time, shown in seen if time > since and len(shown) == len(page(1, ranks=ranks))]
    assert read(*seen, since=since) == (counters(fresh[-1][1]) if fresh else None)


def matcher(text: str, label: str) -> str:
    """The pattern of a label in a query, as the server understands it."""
    found = re.search(rf'[{{,]{label}=~?("(?:[^"\\]|\\.)*")', text)
    assert found
    pattern: str = json.loads(found[1])
    return pattern


def test_the_query_asks_for_samples_of_these_pods_and_families() -> None:
    """A range brings samples with their times; the labels are the ones that the sis names."""
    source = Prometheus(url="http://prometheus:9090", pod_label="kubernetes_pod", namespace_label="ns")
    text = query(source, "team-a", ["llama-1", "llama-2"], seconds=30.0004)
    assert text.endswith("}[30001ms]")
    assert matcher(text, "ns") == "team-a"
    assert [re.fullmatch(matcher(text, "kubernetes_pod"), pod) is not None for pod in ("llama-1", "llama-3")] == [1, 0]
    assert all(re.fullmatch(matcher(text, "__name__"), name) for name in FAMILIES)


def unbroken(text: str) -> bool:
    """Whether a query is three labels with their strings, and a range, and nothing that a name added."""
    string = r'"(?:[^"\\\n]|\\.)*"'
    return re.fullmatch(rf"{{__name__=~{string},namespace={string},pod=~{string}}}\[\d+ms\]", text) is not None


@given(pods=st.lists(st.text(min_size=1), min_size=1, max_size=3), namespace=st.text())
def test_no_name_breaks_out_of_the_query(pods: Iterable[str], namespace: str) -> None:
    """Quotes, backslashes, line ends and signs of a pattern stand for themselves."""
    text = query(SOURCE, namespace, pods, seconds=10)
    assert unbroken(text)
    assert matcher(text, "namespace") == namespace
    pattern = matcher(text, "pod")
    assert all(re.fullmatch(pattern, pod) for pod in pods)
    assert not re.fullmatch(pattern, "-".join(pods) + "-other")


def test_the_span_reaches_back_to_the_scrape_before() -> None:
    """Within bounds: with a wrong clock the span is at least one second and at most an hour."""
    assert span(since=70.0, now=100.0) == 60.0
    assert (span(since=200.0, now=100.0), span(since=0.0, now=1e9)) == (1.0, 3600.0)


def test_the_operator_reads_only_from_allowed_servers() -> None:
    """Without a list it reads from none; the refusal shows what is allowed and the way out."""
    assert allowed("http://anything", ("*",)) == allowed("http://anything", ("http://one", "*")) == ""
    closed = allowed("http://127.0.0.1:9090", ())
    assert "reads from no Prometheus server" in closed
    assert "SPECDEC_PROMETHEUS_URLS (in the Helm chart: prometheusUrls)" in closed
    assert allowed("http://one:9090/", ("http://one:9090",)) == allowed("http://two", ("http://two/",)) == ""
    refused = allowed("http://one:9090/else", ("http://one:9090", "https://two"))
    assert "'http://one:9090/else'" in refused
    assert "http://one:9090, https://two only" in refused
    assert "SPECDEC_PROMETHEUS_URLS" in refused


def test_the_page_names_what_a_server_must_keep() -> None:
    """docs/monitoring.md lists every series that is read, and its example is a guard."""
    page_of_docs = (pathlib.Path(__file__).parents[3] / "docs" / "monitoring.md").read_text()
    assert set(re.findall(r"^   ((?:vllm:|process_|specdec_)\w+)$", page_of_docs, re.MULTILINE)) == set(FAMILIES)
    (example,) = re.findall(r"```yaml\n(guard:.*?)```", page_of_docs, re.DOTALL)
    source = Guard.model_validate(yaml.safe_load(example)["guard"]).source
    assert source is not None
    assert source.prometheus == Prometheus(url="http://prometheus-operated.monitoring:9090")
