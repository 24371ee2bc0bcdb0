"""The page of one service: what is asked against what is served, the numbers, the decisions, what to do next. Pure."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from specdec_operator.display import numbers
from specdec_operator.display.describe import joined, span
from specdec_operator.display.facts import ShownCondition, conditions, facts, held
from specdec_operator.display.next_step import steps
from specdec_operator.display.untrusted import Untrusted
from specdec_operator.observe.pods import PodView
from specdec_operator.web import service_charts as charts
from specdec_operator.web.fleet import NEW, concern_of
from specdec_operator.web.html import Child, Frame, Html, badge, card, el, join, page, row, table, when
from specdec_operator.web.store import SeenService

_HEADS: Final = {"url": "Address"}
_FACTS: Final = (
    *("model", "requested", "served", "guard", "held", "rolling back", "rolled back", "dialled", "adapted", "reduced"),
    *("lowered", "would", "comparing", "costs", "regret", "saved", "dips", "rollbacks", "restarts", "last good", "url"),
    *("engine", "memory", "device", "KV cache", "KServe"),
)
_DOWNLOAD: Final = ("state", "attempt", "bytes", "uri")


def service_page(seen: SeenService, frame: Frame) -> str:
    """Everything that is known about one service."""
    top = el("nav", el("a", "All services", href=frame.root), class_="crumbs", aria_label="Breadcrumb")
    return page(frame, _title(Untrusted(seen.body)), top, service_view(seen, frame.now))


def service_view(seen: SeenService, now: datetime) -> Html:
    """The same without the frame of a page."""
    service = Untrusted(seen.body)
    fewer = _fewer_tokens(service)
    cards = [
        card("Requested and served", _facts(service, now)),
        card("Verdict", *_verdict(service, now)),
        charts.acceptance(service),
        charts.speed(service),
        fewer,
        _pods(seen, now, wide=fewer is None),
        charts.decisions(service, now),
        _conditions(service, now),
        _downloads(service),
    ]
    return join(_head(service, _title(service), now), _next(service, now), el("div", *cards, class_="cards"))


def _title(service: Untrusted) -> str:
    return "/".join(service.of("metadata", each).text for each in ("namespace", "name"))


def _head(service: Untrusted, title: str, now: datetime) -> Html:
    status = service.of("status")
    concern, since = concern_of(service), status.of("guard", "since").time
    why = joined(": ", status.of("reason").text, status.of("message").text)
    return el(
        "div",
        el("h1", title),
        el(
            "p",
            badge(status.of("phase").text or NEW, concern.tone),
            el("span", concern.word, class_="word"),
            el("span", f"for {span((now - since).total_seconds())}", class_="soft") if since else None,
            badge("held", "dim") if held(service, now) else None,
            class_="state",
        ),
        el("p", why, class_="lead") if why else None,
        class_=f"headline {concern.tone}",
    )


def _next(service: Untrusted, now: datetime) -> Html:
    found = steps(service, now)
    todo = [el("li", each.words, join(" ", el("code", each.command)) if each.command else None) for each in found]
    return el("section", el("h2", "What to do next"), el("ul", *todo), class_="next")


def _facts(service: Untrusted, now: datetime) -> Html:
    guard = service.of("spec", "guard")
    every = dict(facts(service, now))
    timing = (f"{name} {guard.of(name).text}" for name in ("window", "interval") if guard.of(name).text)
    every["guard"] = joined(", ", every.get("guard") or guard.of("mode").text, *timing)
    rows = ((_HEADS.get(name, name[0].upper() + name[1:]), every.get(name, "")) for name in _FACTS)
    return el("dl", *(join(el("dt", head), el("dd", text.replace("\n", "; "))) for head, text in rows if text))


def _verdict(service: Untrusted, now: datetime) -> Iterator[Child]:
    guard = service.of("status", "guard")
    if verdict := guard.of("verdict").text:
        tone = {"Pass": "good", "Fail": "warn"}.get(verdict, "dim")
        why = joined(": ", guard.of("reason").text, guard.of("message").text)
        yield el("p", badge(verdict, tone), " ", why)
    else:
        yield el("p", "No window has been judged yet.", class_="empty")
    if failures := facts(service, now).get("failures"):
        yield el("p", failures, class_="soft")
    rows = [
        row(each.name, numbers.number(each.measured, each.digits), each.limit("≥", "≤"), _warning(each.note))
        for each in numbers.thresholds(service.of("status"))
    ]
    yield table("Measured and limits", ("Number", "Measured", "Wanted", ""), rows) if rows else None
    if service.of("status", "acceptance").there and not charts.speculates(service):
        yield el("p", charts.PAST, class_="soft")


def _warning(note: str) -> Html:
    return badge(note, "warn") if note else join()


def _fewer_tokens(service: Untrusted) -> Child:
    """What fewer tokens per step would have done in the same window."""
    rows = [_fewer(each) for each in numbers.fewer_tokens(service)]
    message = service.of("status", "guard", "recommendation", "message").text
    heads = ("K", "Rate", "Length", "Speedup (estimate)", "")
    advice = el("p", f"Recommended: {message}") if message else None
    shown = table("Fewer tokens per step, estimated from the same window", heads, rows)
    return card("Fewer tokens per step", shown, advice) if rows else None


def _fewer(each: numbers.FewerTokens) -> Html:
    marks = [el("span", mark, class_="soft mark") for mark in each.marks]
    outcome = badge(each.outcome, {True: "good", None: "dim"}.get(each.passes, "warn"))
    return row(each.tokens, *each.numbers, join(outcome, *marks))


def _pods(seen: SeenService, now: datetime, *, wide: bool) -> Html:
    """The pods as the operator sees them, and how old what is known of their counters is."""
    service = Untrusted(seen.body)
    judged = service.of("status", "guard", "judged")
    age = el("p", "Newest judged window closed ", when(judged, now), ".", class_="soft") if judged.time else None
    if not seen.pods:
        return card("Pods", el("p", "The operator has found no pod.", class_="empty"), age, wide=wide)
    wanted = service.of("status", "serving", "revision").text
    rows = [_pod(each, wanted, now) for each in sorted(seen.pods, key=lambda each: each.name)]
    return card("Pods", table("Pods", ("Pod", "State", "Revision", "Ended"), rows), age, wide=wide)


def _pod(pod: PodView, wanted: str, now: datetime) -> Html:
    since = datetime.fromtimestamp(pod.ready_since, UTC) if pod.ready and pod.ready_since else None
    word, tone = _state(pod)
    state: list[Child] = [badge(word, tone)]
    state += [f" for {span((now - since).total_seconds())}"] if since else []
    trouble = Untrusted(pod.evicted or pod.pending or pod.engine.waiting_words or pod.engine.message).text
    state += [el("p", trouble[:300], class_="soft")] if trouble and not pod.ready else []
    revision = pod.revision or "?"
    another = "" if revision == wanted else " (another one)"
    return row(pod.name, join(*state), join(revision, another), str(pod.engine.ends))


def _state(pod: PodView) -> tuple[str, str]:
    if pod.deleting:
        return "going", "dim"
    if pod.ready:
        return "ready", "good"
    if pod.evicted is not None:
        return "evicted", "bad"
    if pod.pending is not None:
        return "not scheduled", "warn"
    return (pod.engine.waiting, "warn") if pod.engine.waiting else ("starting", "move")


def _conditions(service: Untrusted, now: datetime) -> Html:
    """Every condition, with its message."""
    rows = [_condition(each, now) for each in conditions(service.of("status"))]
    if not rows:
        return card("Conditions", el("p", "None yet.", class_="empty"), wide=True)
    return card("Conditions", table("Conditions", ("Condition", "Status", "Since", "Why"), rows), wide=True)


def _condition(each: ShownCondition, now: datetime) -> Html:
    tone = {None: "dim", True: "good", False: "warn"}[each.good]
    return el(
        "tr",
        el("th", each.type, scope="row"),
        el("td", badge(each.status or "?", tone)),
        el("td", when(each.since, now)),
        el("td", each.why, class_="message"),
    )


def _downloads(service: Untrusted) -> Child:
    """Downloads, where the operator makes them."""
    rows = [
        row(each.of("name").text, *(join(each.of(name).text) for name in _DOWNLOAD))
        for each in service.of("status", "artifacts").items
        if each.there
    ]
    heads = ("Artifact", "State", "Attempt", "Bytes", "From")
    return card("Downloads", table("Downloads", heads, rows), wide=True) if rows else None
