"""HTML as nested calls. Whatever is not HTML already is escaped: names and messages come from tenants.

Signs that cannot be seen become spaces: those that turn the direction of writing make a text read as another one.
Also the frame around every page, and the small parts that pages share. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from typing import Final, TypeAlias

from specdec_operator.display.describe import ago
from specdec_operator.display.untrusted import Untrusted

_VOID: Final = frozenset({"br", "input", "link", "meta"})
"""Elements without an end."""


class Html(str):
    """Text that is HTML already. Only this file makes it."""

    __slots__ = ()


Child: TypeAlias = str | Html | None
"""What an element holds; None holds nothing."""


def el(name: str, /, *children: Child, **attributes: str | int | float | bool | None) -> Html:
    """One element. In a keyword, a trailing underscore is dropped and the others become hyphens.

    An attribute that is None or False is left out; one that is True has no value.
    """
    start = f"<{name}{''.join(_attribute(key, value) for key, value in attributes.items())}>"
    return Html(start if name in _VOID else f"{start}{join(*children)}</{name}>")


def join(*children: Child) -> Html:
    """Several after each other."""
    return Html("".join(each if isinstance(each, Html) else _plain(each) for each in children if each))


def _attribute(key: str, value: str | int | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    return f' {name}="{_plain(value) if isinstance(value, str) else value}"'


def _plain(text: str) -> str:
    return escape(text if text.isprintable() else "".join(each if each.isprintable() else " " for each in text))


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
    head = (
        el("link", rel="icon", type="image/svg+xml", href=f"{frame.root}icon.svg"),
        el("link", rel="stylesheet", href=f"{frame.root}style.css"),
        el("script", src=f"{frame.root}refresh.js", defer=True),
    )
    foot = (
        el("span", f"As the operator saw it at {frame.now:%Y-%m-%d %H:%M:%S} UTC", id="made"),
        el("a", "JSON", href=f"{frame.root}api/v1/services"),
        el("span", "Read-only; no login of its own"),
    )
    return _document(title, head, el("a", "specdec", class_="brand", href=frame.root), parts, foot)


def page_in_one_file(title: str, style: str, foot: Child, *parts: Child) -> str:
    """A whole page that needs no server and no other file. style: the style sheet, of this package."""
    return _document(title, (el("style", Html(style)),), el("span", "specdec", class_="brand"), parts, (foot,))


def _document(title: str, head: Sequence[Child], brand: Html, parts: Sequence[Child], foot: Sequence[Child]) -> str:
    """head: what links the style. foot: what the footer shows."""
    top = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("title", f"{title} · specdec"),
        *head,
    )
    body = el(
        "body",
        el("a", "Skip to the content", class_="skip", href="#content"),
        el("header", brand, el("span", "speculative decoding with a guard")),
        el("main", *parts, id="content", tabindex="-1"),
        el("footer", *foot),
    )
    return f"<!doctype html>\n{el('html', top, body, lang='en')}\n"


def badge(text: str, tone: str) -> Html:
    """A word on its colour; no page shows anything by a colour alone."""
    return el("span", text, class_=f"badge {tone}")


def when(at: Untrusted, now: datetime) -> Html:
    """How long ago something was; the exact time is its title. Empty where there is no time."""
    time = at.time
    return join() if time is None else el("time", ago(at, now), datetime=time.isoformat(), title=at.text)


def card(title: str, *parts: Child, wide: bool = False) -> Html:
    """A part of a page under its heading."""
    return el("section", el("h2", title), *parts, class_="card wide" if wide else "card")


def row(head: str, *cells: str | Html) -> Html:
    """A row under its head. A cell that is not HTML is a number."""
    drawn = (el("td", each, class_=None if isinstance(each, Html) else "number") for each in cells)
    return el("tr", el("th", head, scope="row"), *drawn)


def table(caption: str, heads: tuple[Child, ...], rows: list[Html]) -> Html:
    """A table with a caption; wide ones scroll within themselves."""
    top = el("thead", el("tr", *(el("th", each, scope="col") for each in heads)))
    return el(
        "div",
        el("table", el("caption", caption, class_="unseen"), top, el("tbody", *rows)),
        class_="scroll",
        role="region",
        aria_label=caption,
        tabindex="0",
    )
