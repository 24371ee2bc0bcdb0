"""The frame around every page: head, header, footer, and the small parts that pages share. Pure."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from specdec_operator.cli.found import Found
from specdec_operator.cli.status_words import ago
from specdec_operator.web.fleet import Concern
from specdec_operator.web.markup import Child, Html, document, el, join

TONES: Final = {
    Concern.BROKEN: "bad",
    Concern.OUT: "warn",
    Concern.FAILING: "warn",
    Concern.UNCLEAR: "dim",
    Concern.CHANGING: "move",
    Concern.FINE: "good",
}
"""Class of the colour of each concern. Words always stand beside it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """Where a page is and when it was made. depth: folders between it and the first page, for relative links."""

    depth: int
    now: datetime

    @property
    def root(self) -> str:
        """The first page, as seen from here: links work behind a proxy that serves this below some path."""
        return "../" * self.depth or "./"


def page(frame: Frame, title: str, *parts: Child) -> str:
    """A whole page."""
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("title", f"{title} · specdec"),
        el("link", rel="icon", type="image/svg+xml", href=f"{frame.root}icon.svg"),
        el("link", rel="stylesheet", href=f"{frame.root}style.css"),
        el("script", src=f"{frame.root}refresh.js", defer=True),
    )
    body = el(
        "body",
        el("a", "Skip to the content", class_="skip", href="#content"),
        el("header", el("a", "specdec", class_="brand", href=frame.root), el("span", "speculative decoding, guarded")),
        el("main", *parts, id="content", tabindex="-1"),
        _footer(frame),
    )
    return document(el("html", head, body, lang="en"))


def _footer(frame: Frame) -> Html:
    made = frame.now.strftime("%Y-%m-%d %H:%M:%S UTC")
    return el(
        "footer",
        el("span", f"As the operator saw it at {made}", id="made"),
        el("a", "JSON", href=f"{frame.root}api/v1/services"),
        el("span", "Read-only; without a login of its own"),
    )


def badge(words: str, tone: str) -> Html:
    """A word on its colour."""
    return el("span", words, class_=f"badge {tone}")


def when(at: Found, now: datetime) -> Html:
    """How long ago something was; the exact time is its title. Empty where there is no time."""
    time = at.time
    return join() if time is None else el("time", ago(at, now), datetime=time.isoformat(), title=at.text)


def card(title: str, *parts: Child, wide: bool = False) -> Html:
    """A part of a page under its heading."""
    return el("section", el("h2", title), *parts, class_="card wide" if wide else "card")


def table(caption: str, heads: tuple[Child, ...], rows: list[Html]) -> Html:
    """A table that says what it is; wide ones scroll within themselves."""
    top = el("thead", el("tr", *(el("th", each, scope="col") for each in heads)))
    return el(
        "div",
        el("table", el("caption", caption, class_="unseen"), top, el("tbody", *rows)),
        class_="scroll",
        role="region",
        aria_label=caption,
        tabindex="0",
    )
