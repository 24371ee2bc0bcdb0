"""The pages as text: every status can be shown, nothing that a tenant writes becomes markup."""

import html.parser
import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.web.samples import CASES, FRAME, HOSTILE, NOW, pod, sample, service, spoiled, waiting

from specdec_operator.display.next_step import steps
from specdec_operator.display.numbers import thresholds
from specdec_operator.display.untrusted import Untrusted
from specdec_operator.web.fleet import FleetFilter, row_of
from specdec_operator.web.fleet_page import fleet_page
from specdec_operator.web.html import Html, el, join
from specdec_operator.web.server import service_data
from specdec_operator.web.service_page import service_page
from specdec_operator.web.store import SeenService

_VOID = ("meta", "link", "input", "br")


class Page(html.parser.HTMLParser):
    """What a page is made of. open: elements that were not ended."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text, self.elements, self.open = "", list[tuple[str, dict[str, str | None]]](), list[str]()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += f"{data} "


def read(text: str) -> Page:
    """A page, which has to be well formed and hold nothing that the policy for contents would refuse."""
    page = Page(text)
    assert page.open == []
    for tag, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on") or name == "style"], tag
        assert tag not in ("img", "iframe", "object", "style")
    assert [each for tag, each in page.elements if tag == "script"] == [
        {"src": each["src"], "defer": None} for tag, each in page.elements if tag == "script"
    ]
    return page


@pytest.mark.parametrize("case", CASES)
def test_nothing_that_a_tenant_writes_becomes_markup(case: str) -> None:
    """The words are there to be read, and only as words, on both pages."""
    body = spoiled(sample(case))
    shown = service_page(SeenService(body=body, pods=(pod(HOSTILE), waiting(HOSTILE))), FRAME)
    for text in (shown, fleet_page([row_of(body)], FleetFilter(namespace=HOSTILE, phase=HOSTILE), FRAME)):
        page = read(text)
        assert [tag for tag, _ in page.elements].count("script") == 1
        assert "alert(1)" in page.text
        assert "\x1b" not in text
        assert "\u202e" not in text


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just("2026-11-20T11:00:00Z"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from(CASES), st.randoms(use_true_random=False), _JSON)
def test_a_status_of_any_shape_is_shown(case: str, chance: Any, junk: Any) -> None:
    """Older and newer operators, and hands, write statuses: one value of any other type breaks no page."""
    body = sample(case)
    block: Any = body
    while isinstance(block, dict) and block:
        key = chance.choice(sorted(block))
        if not isinstance(block[key], dict) or chance.random() < 0.3:
            block[key] = junk
            break
        block = block[key]
    read(service_page(SeenService(body=body), FRAME))
    read(fleet_page([row_of(body)], FleetFilter(), FRAME))


def test_the_numbers_and_what_they_are_compared_with_are_on_the_page() -> None:
    """Acceptance by position, the interval of the speedup, the baseline by load, each threshold."""
    page = read(service_page(service("watching"), FRAME))
    drawn = [each["aria-label"] for tag, each in page.elements if tag == "svg"]
    assert drawn == [
        "Acceptance by position. position 1: 0.71, position 2: 0.42, position 3: 0.25, position 4: 0.14",
        "Speed compared with the baseline: 1.34 times, 95 % interval 1.20 to 1.48",
        "States of the guard, oldest first. RollingOut 19m; WarmingUp 1m; Watching 39m",
    ]
    for said in (
        "0.38",
        "≥ 0.40",
        "below",
        "≤ 20.0",
        "above",
        "30.0 ± 0.3",
        "gain in the engine 1.08 to 1.41 (214 dips)",
        "1 of 3 failing windows",
        "CrashLoopBackOff",
    ):
        assert said in page.text


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("fresh", "Wait: the operator has not handled it yet"),
        ("rolled-back", "the operator retries in 9h50m. Or retry now: specdec retry llama -n team-a"),
        ("last-good", "specdec retry llama -n team-a"),
        ("watching", "Set spec.speculation.tokens to 3"),
        ("reduced", "Set spec.speculation.tokens to 2"),
        (
            "observing",
            "the guard would roll back, but mode Observe or a hold prevents it. specdec rollback llama -n team-a",
        ),
        ("held", "specdec release llama -n team-a"),
        ("stalled", "kubectl get events -n team-a --field-selector involvedObject.name=llama"),
        ("older-operator", "Nothing: the service runs as requested."),
    ],
)
def test_the_next_step_is_shown_with_its_command(case: str, said: str) -> None:
    told = " ".join(f"{step.words} {step.command}" for step in steps(Untrusted(sample(case)), NOW))
    assert said in told


@pytest.mark.parametrize("reason", ["NoTraffic", "FewTokens", "ScrapeFailed", "NotMeasured", "RarelyDrafts"])
def test_an_inconclusive_window_names_the_way_out(reason: str) -> None:
    """Each reason for an inconclusive window has a remedy."""
    guard = {"verdict": "Inconclusive", "reason": reason}
    (step,) = steps(Untrusted({"metadata": {}, "status": {"phase": "Watching", "guard": guard}}), NOW)
    assert not step.words.startswith("Nothing")


def test_a_service_as_json_has_what_its_page_has() -> None:
    """The body as it is shown, with the concern and the next steps."""
    told = json.loads(service_data(service("watching"), NOW))
    assert (told["concern"], told["status"]["acceptance"]["rate"]) == ("failing", 0.38)
    assert [each["ready"] for each in told["pods"]] == [True, False]
    assert told["next"][0]["words"].startswith("Set spec.speculation.tokens to 3")


def test_a_part_of_html_is_escaped_once() -> None:
    """Text is escaped, an element is not; what is not there leaves no trace."""
    inner = el("b", "<&", None)
    assert inner == "<b>&lt;&amp;</b>"
    assert el("p", inner, "x", class_='"', hidden=True, data_x=None, aria_label=1) == (
        '<p class="&quot;" hidden aria-label="1"><b>&lt;&amp;</b>x</p>'
    )
    assert join("a", Html("<br>")) == "a<br>"


def test_a_page_shows_how_old_its_numbers_are() -> None:
    """Times are relative for people and exact for machines."""
    body = sample("watching")
    body["status"]["guard"]["judged"] = (NOW - timedelta(seconds=30)).isoformat()
    page = read(service_page(SeenService(body=body, pods=(pod(),)), FRAME))
    assert "30s ago" in page.text
    assert "As the operator saw it at 2026-11-20 12:00:00 UTC" in page.text


def test_numbers_of_a_speculation_that_was_taken_out_are_not_shown_as_those_of_now() -> None:
    """The status keeps the last measured window; what is served since then is another thing."""
    body = sample("watching")
    assert "Measured while it speculated" not in read(service_page(SeenService(body=body), FRAME)).text
    body["status"]["serving"] = {"speculating": False, "method": "none", "tokens": 0}
    page = read(service_page(SeenService(body=body), FRAME))
    assert page.text.count("Measured with speculation; the service now runs without it.") == 3
    assert (row_of(body).rate, row_of(body).speedup) == (None, None)


def test_each_number_is_held_against_its_own_limit() -> None:
    """Some must not be below, one must not be above; without one of the two nothing is missed."""
    missed = {each.name: each.missed for each in thresholds(Untrusted(sample("watching")["status"]))}
    assert missed == {
        "Acceptance rate": True,
        "Acceptance length": False,
        "Speedup": False,
        "ms per output token": True,
        "Drafted tokens": False,
    }
    assert not any(each.missed for each in thresholds(Untrusted()))
