"""The tables of a service's page: thresholds, fewer tokens, pods, conditions, downloads. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from specdec_operator.cli.found import Found
from specdec_operator.cli.status_words import span
from specdec_operator.serving.pods import PodView
from specdec_operator.web.layout import badge, card, table, when
from specdec_operator.web.markup import Child, Html, el
from specdec_operator.web.seen import Service

_GOOD_WHEN_FALSE: Final = frozenset({"Stalled", "Reconciling", "Warned", "RolledBack", "Held", "Replacing"})
"""Conditions that are there only while something is not usual, and RolledBack."""

PAST: Final = "Measured while it speculated; it runs plain now."


def speculates(sis: Found) -> bool:
    """Whether the pods are asked to. The status keeps the last measured window, also after a rollback."""
    return sis.of("status", "serving", "speculating").flag


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A number beside what is asked of it. least: whether it must not be below, else not above."""

    name: str
    measured: float | None
    wanted: float | None
    least: bool = True
    digits: int = 2

    @property
    def missed(self) -> bool:
        """Whether the number alone is on the wrong side; the verdict knows about chance."""
        if self.measured is None or self.wanted is None:
            return False
        return self.measured < self.wanted if self.least else self.measured > self.wanted


def limits(status: Found) -> tuple[Limit, ...]:
    """What the last measured window showed beside what is asked of it."""
    wanted = status.of("guard", "thresholds")
    acceptance, performance = status.of("acceptance"), status.of("performance")
    time, drafted = performance.of("timePerOutputTokenMs").number, acceptance.of("draftTokens").number
    most, fewest = wanted.of("timePerOutputTokenMs").number, wanted.of("minDraftTokens").number
    length = wanted.of("acceptanceLength").number
    return (
        Limit(name="Acceptance rate", measured=acceptance.of("rate").number, wanted=wanted.of("acceptanceRate").number),
        Limit(name="Acceptance length", measured=acceptance.of("length").number, wanted=length),
        Limit(name="Speedup", measured=performance.of("speedup").number, wanted=wanted.of("speedup").number),
        Limit(name="ms per output token", measured=time, wanted=most, least=False, digits=1),
        Limit(name="Drafted tokens", measured=drafted, wanted=fewest, digits=0),
    )


def thresholds(status: Found) -> Child:
    """A row for each number that is measured or asked for."""
    rows = [_limit(each) for each in limits(status) if each.measured is not None or each.wanted is not None]
    return table("Measured and wanted", ("Number", "Measured", "Wanted", ""), rows) if rows else None


def _limit(each: Limit) -> Html:
    measured = "-" if each.measured is None else f"{each.measured:.{each.digits}f}"
    sign = "≥" if each.least else "≤"
    wanted = "" if each.wanted is None else f"{sign} {each.wanted:.{each.digits}f}"
    note = badge("below" if each.least else "above", "warn") if each.missed else ""
    return el(
        "tr",
        el("th", each.name, scope="row"),
        el("td", measured, class_="number"),
        el("td", wanted, class_="number"),
        el("td", note),
    )


def fewer(sis: Found) -> Child:
    """What fewer tokens per step would have done in the same window."""
    rows = [each for each in sis.of("status", "guard", "fewerTokens").items if each.of("tokens").whole is not None]
    advice = sis.of("status", "guard", "recommendation")
    if not rows:
        return None
    said = el("p", f"Recommended: {advice.of('message').text}") if advice.of("message").text else None
    heads = ("K", "Rate", "Length", "Speedup (estimate)", "")
    caption = "Fewer tokens per step, by the same window"
    return card("Fewer tokens per step", table(caption, heads, [_row(row, sis) for row in rows]), said)


def _row(row: Found, sis: Found) -> Html:
    passes = row.of("passes").flag
    marks = [badge("passes" if passes else "fails", "good" if passes else "warn")]
    marks += [el("span", mark, class_="soft mark") for mark in _marks(row.of("tokens").whole, sis)]
    numbers = (row.of(name).number for name in ("rate", "length", "speedup"))
    cells = [el("td", "-" if each is None else f"{each:.2f}", class_="number") for each in numbers]
    return el("tr", el("th", row.of("tokens").text, scope="row"), *cells, el("td", *marks))


def _marks(tokens: int | None, sis: Found) -> Iterator[str]:
    places = (
        ("in use", ("status", "serving", "tokens")),
        ("asked for", ("spec", "speculation", "tokens")),
        ("recommended", ("status", "guard", "recommendation", "tokens")),
    )
    for word, place in places:
        if tokens == sis.of(*place).whole:
            yield word


def pods(service: Service, now: datetime, *, wide: bool) -> Html:
    """The pods as the operator sees them, and how old what is known of their counters is."""
    sis = Found(service.body)
    judged = sis.of("status", "guard", "judged")
    age = el("p", "Newest judged window closed ", when(judged, now), ".", class_="soft") if judged.time else None
    if not service.pods:
        return card("Pods", el("p", "The operator has seen none.", class_="empty"), age, wide=wide)
    wanted = sis.of("status", "serving", "revision").text
    rows = [_pod(each, wanted, now) for each in sorted(service.pods, key=lambda each: each.name)]
    return card("Pods", table("Pods", ("Pod", "State", "Revision", "Ended"), rows), age, wide=wide)


def _pod(pod: PodView, wanted: str, now: datetime) -> Html:
    since = datetime.fromtimestamp(pod.ready_since, UTC) if pod.ready and pod.ready_since else None
    word, tone = _state(pod)
    state: list[Child] = [badge(word, tone)]
    state += [f" for {span((now - since).total_seconds())}"] if since else []
    trouble = Found(pod.evicted or pod.pending or pod.engine.waiting_words or pod.engine.message).text
    state += [el("p", trouble[:300], class_="soft")] if trouble and not pod.ready else []
    revision = pod.revision or "?"
    return el(
        "tr",
        el("th", pod.name, scope="row"),
        el("td", *state),
        el("td", f"{revision}{'' if revision == wanted else ' (another one)'}"),
        el("td", str(pod.engine.ends), class_="number"),
    )


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


def conditions(sis: Found, now: datetime) -> Html:
    """Every condition, with what it says."""
    rows = [_condition(each, now) for each in sis.of("status", "conditions").items if each.of("type").text]
    if not rows:
        return card("Conditions", el("p", "None yet.", class_="empty"), wide=True)
    return card("Conditions", table("Conditions", ("Condition", "Status", "Since", "Why"), rows), wide=True)


def _condition(each: Found, now: datetime) -> Html:
    kind, status = each.of("type").text, each.of("status").text
    usual = "False" if kind in _GOOD_WHEN_FALSE else "True"
    tone = "dim" if status not in ("True", "False") else "good" if status == usual else "warn"
    said = ": ".join(filter(None, (each.of("reason").text, each.of("message").text)))
    return el(
        "tr",
        el("th", kind, scope="row"),
        el("td", badge(status or "?", tone)),
        el("td", when(each.of("lastTransitionTime"), now)),
        el("td", said, class_="message"),
    )


def artifacts(sis: Found) -> Child:
    """Downloads, where the operator makes them."""
    rows = [
        el("tr", el("th", each.of("name").text, scope="row"), *(el("td", each.of(name).text) for name in _DOWNLOAD))
        for each in sis.of("status", "artifacts").items
        if each.there
    ]
    heads = ("Artifact", "State", "Attempt", "Bytes", "From")
    return card("Downloads", table("Downloads", heads, rows), wide=True) if rows else None


_DOWNLOAD: Final = ("state", "attempt", "bytes", "uri")
