"""The first page: how many services are in which phase, and a row for each, those with problems first. Pure."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final
from urllib.parse import quote

from specdec_operator.display.describe import span
from specdec_operator.web.fleet import MOST_ROWS, Concern, FleetFilter, FleetRow, chosen, counts
from specdec_operator.web.html import Child, Frame, Html, badge, el, join, page

_HEADS: Final = (
    ("Service", "name"),
    ("Phase", "phase"),
    ("Attention", "concern"),
    ("Serves", "served"),
    ("Acceptance", "acceptance"),
    ("Speedup", "speedup"),
    ("Since", "since"),
)
_LONGEST: Final = 160
"""Characters of a message in a row; the whole one is on the service's page."""


def fleet_page(rows: Sequence[FleetRow], wanted: FleetFilter, frame: Frame) -> str:
    """The fleet, as the address asks for it."""
    matching = chosen(rows, wanted)
    pages = max(1, -(-len(matching) // MOST_ROWS))
    wanted = replace(wanted, page=min(wanted.page, pages))
    shown = matching[(wanted.page - 1) * MOST_ROWS : wanted.page * MOST_ROWS]
    return page(
        frame,
        "Fleet",
        el("h1", "Speculative inference services"),
        _summary(rows, wanted),
        _filters(rows, wanted),
        _table(shown, wanted, frame) if shown else _nothing(rows),
        _pager(len(matching), pages, wanted),
    )


def _summary(rows: Sequence[FleetRow], wanted: FleetFilter) -> Html:
    """A link for each phase, with its number."""
    usual = replace(wanted, page=1, phase="")
    chips = [_chip("All", len(rows), "plain", usual, here=not wanted.phase)]
    for phase, number, concern in counts(rows):
        chips.append(_chip(phase, number, concern.tone, replace(usual, phase=phase), here=wanted.phase == phase))
    return el("nav", *chips, class_="chips", aria_label="Phases")


def _chip(label: str, number: int, tone: str, leads: FleetFilter, *, here: bool) -> Html:
    text, current = join(el("b", str(number)), f" {label}"), "true" if here else None
    return el("a", text, class_=f"chip {tone}", href=leads.address(), aria_current=current)


def _filters(rows: Sequence[FleetRow], wanted: FleetFilter) -> Html:
    """A form that works without a script."""
    namespaces = sorted({row.namespace for row in rows} | ({wanted.namespace} - {""}))
    phases = sorted({row.phase for row in rows} | ({wanted.phase} - {""}))
    kept = [el("input", type="hidden", name="sort", value=wanted.sort)] if wanted.sort != FleetFilter().sort else []
    kept += [el("input", type="hidden", name="order", value="down")] if wanted.down else []
    return el(
        "form",
        _choice("Namespace", "namespace", namespaces, wanted.namespace),
        _choice("Phase", "phase", phases, wanted.phase),
        *kept,
        el("button", "Filter", type="submit"),
        el("a", "Show all", href=FleetFilter().address()) if wanted.namespace or wanted.phase else None,
        method="get",
        class_="filters",
    )


def _choice(label: str, name: str, values: Sequence[str], now: str) -> Html:
    options = [el("option", f"All {len(values)}", value="", selected=not now)]
    options += [el("option", each, value=each, selected=each == now) for each in values]
    return el("label", el("span", label), el("select", *options, name=name))


def _table(rows: Sequence[FleetRow], wanted: FleetFilter, frame: Frame) -> Html:
    heads = el("tr", *(_head(label, name, wanted) for label, name in _HEADS))
    return el(
        "table",
        el("caption", "Services, those with problems first", class_="unseen"),
        el("thead", heads),
        el("tbody", *(_row(row, frame.now) for row in rows)),
        class_="fleet",
    )


def _head(label: str, name: str, wanted: FleetFilter) -> Html:
    """A column's name; a link that sorts by it, or turns the order round."""
    here = wanted.sort == name
    order = ("descending" if wanted.down else "ascending") if here else None
    leads = replace(wanted, page=1, sort=name, down=here and not wanted.down)
    mark = el("span", " ▾" if wanted.down else " ▴", aria_hidden="true") if here else None
    return el("th", el("a", label, mark, href=leads.address()), scope="col", aria_sort=order)


def _row(row: FleetRow, now: datetime) -> Html:
    tone, since = row.concern.tone, row.since.isoformat() if row.since else ""
    age = el("time", span((now - row.since).total_seconds()), datetime=since, title=since) if row.since else None
    address = f"services/{quote(row.namespace, safe='')}/{quote(row.name, safe='')}"
    return el(
        "tr",
        el("th", el("a", el("span", f"{row.namespace}/", class_="space"), row.name, href=address), scope="row"),
        el("td", badge(row.phase, tone), data_label="Phase"),
        el("td", _attention(row), class_="why"),
        el("td", row.served or "nothing yet", data_label="Serves"),
        _cell("Acceptance", *_rate(row)),
        _cell("Speedup", None if row.speedup is None else f"{row.speedup:.2f}\u00d7"),
        _cell("Since", age),
        class_=tone,
    )


def _attention(row: FleetRow) -> Html:
    """The concern in a word, and why; a service that is fine shows nothing more."""
    word = el("span", row.concern.word, class_="word")
    if row.concern is Concern.FINE or not row.why:
        return word
    short = row.why if len(row.why) <= _LONGEST else f"{row.why[:_LONGEST]}…"
    return join(word, el("span", short, class_="message"))


def _cell(label: str, *parts: Child) -> Html:
    """A number; where there is none, a cell that a narrow page leaves out."""
    kind = "number" if any(parts) else "number none"
    return el("td", *(parts if any(parts) else ("-",)), class_=kind, data_label=label)


def _rate(row: FleetRow) -> list[Child]:
    """The share as a number and as a small bar, with its threshold as a mark."""
    if row.rate is None:
        return []
    kind = "bar low" if row.wanted is not None and row.rate < row.wanted else "bar"
    wide = round(min(1.0, max(0.0, row.rate)) * 60, 1)
    mark = None if row.wanted is None else round(min(1.0, max(0.0, row.wanted)) * 60, 1)
    drawn = [
        el("rect", class_="rest", x=0, y=0, width=60, height=8, rx=2),
        el("rect", class_=kind, x=0, y=0, width=wide, height=8, rx=2),
        None if mark is None else el("line", class_="level wanted", x1=mark, y1=-1, x2=mark, y2=9),
    ]
    bar = el("svg", *drawn, class_="spark", viewBox="-1 -1 62 10", aria_hidden="true")
    threshold = None if row.wanted is None else el("span", f", limit {row.wanted:.2f}", class_="unseen")
    return [f"{row.rate:.2f}", join(threshold, bar)]


def _nothing(rows: Sequence[FleetRow]) -> Html:
    if rows:
        return el("p", "This namespace has no service in this phase.", class_="empty")
    return el(
        "p",
        "The namespaces that this operator watches have no SpeculativeInferenceService yet. Create one: ",
        el("code", "kubectl apply -f service.yaml"),
        class_="empty",
    )


def _pager(number: int, pages: int, wanted: FleetFilter) -> Html | None:
    if pages == 1:
        return None
    before = el("a", "Previous", href=replace(wanted, page=wanted.page - 1).address()) if wanted.page > 1 else None
    after = el("a", "Next", href=replace(wanted, page=wanted.page + 1).address()) if wanted.page < pages else None
    position = f"Page {wanted.page} of {pages}, {number} services"
    return el("nav", before, el("span", position), after, class_="pager", aria_label="Pages")
