"""The page of one service: what is asked against what is served, the numbers, the decisions, what to do next. Pure."""

from collections.abc import Iterator
from datetime import datetime

from specdec_operator.cli import status_words as words
from specdec_operator.cli.found import Found
from specdec_operator.web import service_charts as charts
from specdec_operator.web import service_tables as tables
from specdec_operator.web.fleet import WORDS, concern_of
from specdec_operator.web.layout import TONES, Frame, badge, card, page, when
from specdec_operator.web.markup import Child, Html, el, join
from specdec_operator.web.next_step import Step, steps
from specdec_operator.web.seen import Service


def service_page(service: Service, frame: Frame) -> str:
    """Everything that is known about one service."""
    sis, now = Found(service.body), frame.now
    title = "/".join(sis.of("metadata", each).text for each in ("namespace", "name"))
    fewer = tables.fewer(sis)
    cards = [
        card("Asked for and served", _facts(_asked_rows(sis, now))),
        card("Verdict", *_verdict(sis)),
        charts.acceptance(sis),
        charts.speed(sis),
        fewer,
        tables.pods(service, now, wide=fewer is None),
        charts.decisions(sis, now),
        tables.conditions(sis, now),
        tables.artifacts(sis),
    ]
    top = el("nav", el("a", "All services", href=frame.root), class_="crumbs", aria_label="Breadcrumb")
    return page(frame, title, top, _head(sis, title, now), _next(sis, now), el("div", *cards, class_="cards"))


def _head(sis: Found, title: str, now: datetime) -> Html:
    status = sis.of("status")
    concern, since = concern_of(sis), status.of("guard", "since").time
    held = badge("held", "dim") if words.held(sis, now) or status.of("guard", "held").flag else None
    tone = TONES[concern]
    why = ": ".join(filter(None, (status.of("reason").text, status.of("message").text)))
    return el(
        "div",
        el("h1", title),
        el(
            "p",
            badge(status.of("phase").text or "New", tone),
            el("span", WORDS[concern], class_="word"),
            el("span", f"for {words.span((now - since).total_seconds())}", class_="soft") if since else None,
            held,
            class_="state",
        ),
        el("p", why, class_="lead") if why else None,
        class_=f"headline {tone}",
    )


def _next(sis: Found, now: datetime) -> Html:
    todo = [el("li", *_step(step)) for step in steps(sis, now)]
    return el("section", el("h2", "What to do next"), el("ul", *todo), class_="next")


def _step(step: Step) -> Iterator[Child]:
    yield step.words
    if step.command:
        yield join(" ", el("code", step.command))


def _facts(rows: Iterator[tuple[str, Child]]) -> Html:
    return el("dl", *(join(el("dt", head), el("dd", said)) for head, said in rows if said))


def _asked_rows(sis: Found, now: datetime) -> Iterator[tuple[str, Child]]:
    status, spec = sis.of("status"), sis.of("spec")
    guard = status.of("guard")
    yield "Model", spec.of("model", "uri").text
    yield "Asked for", words.asked(sis)
    yield "Served", words.served(sis)
    yield "Guard", _guard(spec.of("guard"))
    yield "Held", words.held(sis, now)
    yield "Rolled back", words.because(guard.of("rollback"), now) if guard.of("rollback").there else ""
    yield "Reduced", words.because(guard.of("reduced"), now) if guard.of("reduced").there else ""
    yield "Would", words.because(guard.of("would"), now) if guard.of("would").there else ""
    yield "Next try", when(guard.of("nextRetry"), now)
    yield "So far", _counted(guard)
    yield "Last good", "; ".join(words.good_words(each) for each in guard.of("lastGood").items if each.there)
    yield "Address", status.of("serving", "url").text
    yield "Engine", _engine(spec.of("engine"))
    memory = status.of("memory")
    yield "Memory", "; ".join(filter(None, (memory.of("because").text, memory.of("kvPrice").text)))
    yield "KServe", status.of("kserve", "version").text


def _guard(guard: Found) -> str:
    mode = {"Observe": "Observe: it changes nothing", "Off": "Off: nothing is judged"}
    said = mode.get(guard.of("mode").text, guard.of("mode").text)
    parts = [said, *(f"{name} {guard.of(name).text}" for name in ("window", "interval") if guard.of(name).text)]
    return ", ".join(filter(None, parts))


def _engine(engine: Found) -> str:
    return " ".join(filter(None, (engine.of("accelerator").text, engine.of("version").text)))


def _counted(guard: Found) -> str:
    named = (("rollbacks", "rollback"), ("retries", "retry"), ("restarts", "pod restart"))
    plural = {"retry": "retries"}
    numbers = [(guard.of(field).whole or 0, word) for field, word in named]
    return ", ".join(f"{n} {word if n == 1 else plural.get(word, word + 's')}" for n, word in numbers if n > 0)


def _verdict(sis: Found) -> Iterator[Child]:
    guard = sis.of("status", "guard")
    verdict = guard.of("verdict").text
    if not verdict:
        yield el("p", "No window has been judged yet.", class_="empty")
    else:
        tone = {"Pass": "good", "Fail": "warn"}.get(verdict, "dim")
        said = ": ".join(filter(None, (guard.of("reason").text, guard.of("message").text)))
        yield el("p", badge(verdict, tone), " ", said)
    if failures := guard.of("failures").whole:
        limit = sis.of("spec", "guard", "failureLimit").whole
        yield el("p", f"{failures}{f' of {limit}' if limit else ''} failing windows in a row", class_="soft")
    yield tables.thresholds(sis.of("status"))
    if sis.of("status", "acceptance").there and not tables.speculates(sis):
        yield el("p", tables.PAST, class_="soft")
