"""The first page: how many services are in which phase, and a row for each, those with problems first. Pure."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final
from urllib.parse import quote

from specdec_operator.cli.status_words import span
from specdec_operator.web.fleet import MOST_ROWS, WORDS, Concern, Question, Row, chosen, counts
from specdec_operator.web.layout import TONES, Frame, badge, page
from specdec_operator.web.markup import Child, Html, el, join

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


def fleet_page(rows: Sequence[Row], asked: Question, frame: Frame) -> str:
    """The fleet, as the address asks for it."""
    found = chosen(rows, asked)
    pages = max(1, -(-len(found) // MOST_ROWS))
    asked = replace(asked, page=min(asked.page, pages))
    shown = found[(asked.page - 1) * MOST_ROWS : asked.page * MOST_ROWS]
    return page(
        frame,
        "Fleet",
        el("h1", "Speculative inference services"),
        _summary(rows, asked),
        _filters(rows, asked),
        _table(shown, asked, frame) if shown else _nothing(rows),
        _pager(len(found), pages, asked),
    )


def _summary(rows: Sequence[Row], asked: Question) -> Html:
    """A link for each phase, with its number."""
    usual = replace(asked, page=1, phase="")
    chips = [_chip("All", len(rows), "plain", usual, here=not asked.phase)]
    for phase, number, concern in counts(rows):
        chips.append(_chip(phase, number, TONES[concern], replace(usual, phase=phase), here=asked.phase == phase))
    return el("nav", *chips, class_="chips", aria_label="Phases")


def _chip(words: str, number: int, tone: str, leads: Question, *, here: bool) -> Html:
    return el(
        "a",
        el("b", str(number)),
        " ",
        words,
        class_=f"chip {tone}",
        href=leads.address(),
        aria_current="true" if here else None,
    )


def _filters(rows: Sequence[Row], asked: Question) -> Html:
    """A form that works without a script."""
    namespaces = sorted({row.namespace for row in rows} | ({asked.namespace} - {""}))
    phases = sorted({row.phase for row in rows} | ({asked.phase} - {""}))
    kept = [el("input", type="hidden", name="sort", value=asked.sort)] if asked.sort != Question().sort else []
    kept += [el("input", type="hidden", name="order", value="down")] if asked.down else []
    return el(
        "form",
        _choice("Namespace", "namespace", namespaces, asked.namespace),
        _choice("Phase", "phase", phases, asked.phase),
        *kept,
        el("button", "Filter", type="submit"),
        el("a", "Show all", href=Question().address()) if asked.namespace or asked.phase else None,
        method="get",
        class_="filters",
    )


def _choice(words: str, name: str, values: Sequence[str], now: str) -> Html:
    options = [el("option", f"All {len(values)}", value="", selected=not now)]
    options += [el("option", each, value=each, selected=each == now) for each in values]
    return el("label", el("span", words), el("select", *options, name=name))


def _table(rows: Sequence[Row], asked: Question, frame: Frame) -> Html:
    heads = el("tr", *(_head(words, name, asked) for words, name in _HEADS))
    return el(
        "table",
        el("caption", "Services, those with problems first", class_="unseen"),
        el("thead", heads),
        el("tbody", *(_row(row, frame.now) for row in rows)),
        class_="fleet",
    )


def _head(words: str, name: str, asked: Question) -> Html:
    """A column's name; a link that sorts by it, or turns the order round."""
    here = asked.sort == name
    order = ("descending" if asked.down else "ascending") if here else None
    leads = replace(asked, page=1, sort=name, down=here and not asked.down)
    mark = el("span", " ▾" if asked.down else " ▴", aria_hidden="true") if here else None
    return el("th", el("a", words, mark, href=leads.address()), scope="col", aria_sort=order)


def _row(row: Row, now: datetime) -> Html:
    tone = TONES[row.concern]
    return el(
        "tr",
        el("th", _link(row), scope="row"),
        el("td", badge(row.phase, tone), data_label="Phase"),
        el("td", _attention(row), class_="why"),
        el("td", row.served or "nothing yet", data_label="Serves"),
        _cell("Acceptance", *_rate(row)),
        _cell("Speedup", None if row.speedup is None else f"{row.speedup:.2f}\u00d7"),
        _cell("Since", _since(row.since, now)),
        class_=tone,
    )


def _link(row: Row) -> Html:
    address = f"services/{quote(row.namespace, safe='')}/{quote(row.name, safe='')}"
    return el("a", el("span", f"{row.namespace}/", class_="space"), row.name, href=address)


def _attention(row: Row) -> Html:
    """The concern in a word, and why; a service that is fine says nothing more."""
    word = el("span", WORDS[row.concern], class_="word")
    if row.concern is Concern.FINE or not row.why:
        return word
    short = row.why if len(row.why) <= _LONGEST else f"{row.why[:_LONGEST]}…"
    return join(word, el("span", short, class_="message"))


def _cell(words: str, *parts: Child) -> Html:
    """A number; where there is none, a cell that a narrow page leaves out."""
    known = any(parts)
    return el("td", *(parts if known else ("-",)), class_="number" if known else "number none", data_label=words)


def _rate(row: Row) -> list[Child]:
    """The share as a number and as a small bar, with its threshold as a mark."""
    if row.rate is None:
        return []
    wide = round(min(1.0, max(0.0, row.rate)) * 60, 1)
    mark = None if row.wanted is None else round(min(1.0, max(0.0, row.wanted)) * 60, 1)
    drawn = [
        el("rect", class_="rest", x=0, y=0, width=60, height=8, rx=2),
        el(
            "rect",
            class_="bar" if row.wanted is None or row.rate >= row.wanted else "bar low",
            x=0,
            y=0,
            width=wide,
            height=8,
            rx=2,
        ),
        None if mark is None else el("line", class_="level wanted", x1=mark, y1=-1, x2=mark, y2=9),
    ]
    said = f"{row.rate:.2f}"
    bar = el("svg", *drawn, class_="spark", viewBox="-1 -1 62 10", aria_hidden="true")
    wanted = el("span", f" of {row.wanted:.2f} wanted", class_="unseen") if row.wanted is not None else None
    return [said, join(wanted, bar)]


def _since(since: datetime | None, now: datetime) -> Html | None:
    if since is None:
        return None
    return el("time", span((now - since).total_seconds()), datetime=since.isoformat(), title=since.isoformat())


def _nothing(rows: Sequence[Row]) -> Html:
    if rows:
        return el("p", "No service is in this namespace and phase.", class_="empty")
    return el(
        "p",
        "No SpeculativeInferenceService has been seen yet in the namespaces that this operator watches. Make one: ",
        el("code", "kubectl apply -f sis.yaml"),
        class_="empty",
    )


def _pager(number: int, pages: int, asked: Question) -> Html | None:
    if pages == 1:
        return None
    before = el("a", "Previous", href=replace(asked, page=asked.page - 1).address()) if asked.page > 1 else None
    after = el("a", "Next", href=replace(asked, page=asked.page + 1).address()) if asked.page < pages else None
    words = f"Page {asked.page} of {pages}, {number} services"
    return el("nav", before, el("span", words), after, class_="pager", aria_label="Pages")
