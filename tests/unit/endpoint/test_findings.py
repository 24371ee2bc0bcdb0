"""What is concluded from what a server showed: each finding, and no finding without its cause."""

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.endpoint.engine_standin import page, recorded

from specdec_command.endpoint.findings import findings
from specdec_command.endpoint.seen import EngineReading, GeneratedAnswer, Seen, ServedModel, Trouble, read_engines
from specdec_command.endpoint.summary import document, rows, verdict

ANSWER = GeneratedAnswer(model="m", tokens=8, seconds=0.1)


def seen(*pages: str, apart: float = 15.0, **parts: Any) -> Seen:
    """A server whose pages were read so many seconds apart."""
    readings = tuple(EngineReading(at=apart * index, engines=read_engines(each)) for index, each in enumerate(pages))
    known = Seen(url="http://e", version="0.32.0", models=(ServedModel(name="org/m", longest=1024),), readings=readings)
    return replace(known, **parts)


def found(*pages: str, **parts: Any) -> dict[str, str]:
    """What and what to do, by the finding."""
    return {each.id: f"{each.what}; {each.do}" for each in findings(seen(*pages, **parts))}


WELL = (page(drafts=100.0, generated=300.0, accepted=120.0), page(drafts=600.0, generated=1500.0, accepted=800.0))


def test_a_healthy_engine_has_no_finding() -> None:
    """Acceptance 0.68 of two tokens, little in the cache, nothing waiting; and a real recording likewise."""
    assert found(*WELL, answer=ANSWER) == {}
    assert found(*recorded("01-code-steady")[:12], answer=ANSWER) == {}


@pytest.mark.parametrize(
    ("name", "pages", "words"),
    [
        ("NotSpeculating", (page(generated=1.0), page(generated=99.0)), "`specdec recommend org/m`"),
        ("NotDrafting", (page(drafts=0.0), page(drafts=0.0, generated=900.0)), "decoded 900 tokens and drafted none"),
        ("NoTraffic", (page(drafts=5.0), page(drafts=5.0)), "no token was decoded over 15 s"),
        (
            "AcceptanceLow",
            (page(drafts=0.0), page(drafts=900.0, generated=1400.0, accepted=500.0)),
            "acceptance is 0.28 < 0.4 over 15 s, 1800 drafted tokens; draft 1 tokens per step",
        ),
        (
            "AcceptanceHigh",
            (page(drafts=0.0), page(drafts=900.0, generated=2600.0, accepted=1700.0)),
            "set num_speculative_tokens to 3, or use a stronger draft (a larger one, or a head trained for this",
        ),
        (
            "PositionsUnused",
            (page(drafts=0.0), page(drafts=900.0, generated=1800.0, accepted=910.0)),
            "position 2 of 2 is accepted in 0.01 of the drafts; set num_speculative_tokens to 1",
        ),
        (
            "LengthFalls",
            (
                page(drafts=0.0, used=0.1),
                page(drafts=500.0, accepted=700.0, generated=1200.0, used=0.1),
                page(drafts=1000.0, accepted=1000.0, generated=2000.0, used=0.9),
                page(drafts=1500.0, accepted=1250.0, generated=2750.0, used=0.9),
            ),
            "falls from 2.40 to 1.50 tokens per step while the KV cache fills from 10 % to 90 %",
        ),
        (
            "Stalled",
            tuple(page(drafts=5.0, generated=50.0, running=3.0) for _ in range(3)),
            "m: 3 requests run and 0 wait, but no token was generated for 30 s; restart the engine",
        ),
        ("CacheFull", (page(generated=1.0), page(generated=9.0, used=0.97)), "97 % of the KV cache was in use"),
        ("Preemptions", (page(generated=1.0), page(generated=9.0, preemptions=4.0)), "4 preemptions over 15 s"),
        ("Queue", (page(generated=1.0, waiting=4.0), page(generated=9.0, waiting=8.0)), "6 requests wait on average"),
        ("Restarted", (page(generated=9.0), page(generated=1.0, started=2.0)), "the engine restarted"),
        (
            "SeveralEngines",
            tuple(page(generated=9.0, started=started) for started in (1.0, 2.0, 1.0, 2.0)),
            "2 start times of the process were seen; check one engine",
        ),
    ],
)
def test_each_cause_has_its_finding_with_numbers_and_a_way_out(name: str, pages: tuple[str, ...], words: str) -> None:
    """What was seen, and what to do."""
    assert words in found(*pages)[name]


def test_counters_that_stand_still_after_an_answer_are_of_another_engine() -> None:
    """The answer had eight tokens, so an idle page cannot be about the engine that gave it."""
    still = (page(generated=5.0, running=0.0), page(generated=5.0, running=0.0))
    assert "the answer had 8 tokens, and the counters show 0 more" in found(*still, answer=ANSWER)["CountersStandStill"]
    assert "CountersStandStill" not in found(*still)


@pytest.mark.parametrize(
    ("version", "name"), [("0.10.2", "VersionOld"), ("0.99.0", "VersionNew"), ("0.33.1", ""), ("dev", ""), ("", "")]
)
def test_only_a_version_that_is_unknown_here_is_a_finding(version: str, name: str) -> None:
    """Another text is not compared."""
    assert [*found(*WELL, version=version)] == [name] * bool(name)


def test_troubles_come_first_and_only_some_need_a_fix() -> None:
    """A server without /version works; one without an answer does not."""
    troubles = tuple(Trouble(path=path, what="HTTP 500", fix="fix it") for path in ("/version", "/v1/completions"))
    every = findings(seen(page(generated=1.0), page(generated=9.0), troubles=troubles))
    assert [(each.id, each.to_fix) for each in every] == [
        ("NotAnswering", True),
        ("VersionUnread", False),
        ("NotSpeculating", False),
    ]
    assert verdict(every) == "1 to fix, 2 to check"


def test_ranks_and_models_of_one_page_are_shown_apart_and_judged_together() -> None:
    """As data-parallel ranks and other models stand on it; a value of one is not another's."""

    def both(drafts: float, accepted: float) -> str:
        one = page(drafts=drafts, accepted=accepted, generated=3 * drafts)
        other = page(drafts=drafts, accepted=accepted / 2, generated=3 * drafts, rank="1")
        return one + "".join(line + "\n" for line in other.splitlines() if "rank" in line or 'engine="1",m' in line)

    shown = dict(rows(seen(both(0.0, 0.0), both(600.0, 800.0))))
    assert shown["engines"] == "m, rank 0, m, rank 1"
    assert shown["by engine"] == "m, rank 0: 0.67, m, rank 1: 0.33"
    assert shown["acceptance"] == "0.50, 2.00 tokens per step"
    models = page(generated=5.0, model="a").split("\n", 2)[2] + page(generated=7.0, model="b").split("\n", 2)[2]
    assert {name: each.generation_tokens for name, each in read_engines(models).items()} == {"a": 5, "b": 7}


def test_names_of_caches_of_older_engines_are_read() -> None:
    """vLLM up to 0.11 calls the share in use another name."""
    old = page(generated=1.0, used=0.42).replace("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc")
    cache = read_engines(old)["m"].kv_cache
    assert cache is not None
    assert cache.used == 0.42


def test_the_figures_are_shown_and_are_in_the_document() -> None:
    """The same numbers for people and for programs."""
    healthy = seen(*WELL, answer=ANSWER)
    shown = dict(rows(healthy))
    assert shown["speculation"] == "on, K 2"
    assert shown["acceptance"] == "0.68, 2.36 tokens per step"
    assert shown["KV cache"] == "at most 10 % of 4096 tokens in use"
    assert shown["since start"] == "1500 tokens generated, acceptance 0.67, 2.33 tokens per step"
    found = document(healthy, findings(healthy))
    assert found["window"]["acceptanceRate"] == pytest.approx(0.68)
    assert (found["speculating"], found["toFix"]) == (True, 0)
