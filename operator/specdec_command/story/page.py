"""The story as one HTML file: each chapter in lines, and the operator's own page as it was at its end."""

import importlib.resources
from collections.abc import Iterator, Sequence
from typing import Final

from specdec_command.story.lines import RECORDED, StoryLine, chapters, clock, lines, outcome, sources, speeds
from specdec_command.story.play import Moment
from specdec_command.story.recording import Chapter, StoryRecording
from specdec_operator.web.html import Child, Html, badge, el, join, page_in_one_file
from specdec_operator.web.service_page import service_view
from specdec_operator.web.store import SeenService, shown_of

_TITLE: Final = "A draft that pays, until the traffic changes"
_STYLE: Final = """
.story > section > h2 { font-size: 20px; margin: 28px 0 6px; }
.lines { list-style: none; margin: 8px 0; padding: 0; }
.lines li { display: flex; gap: 4px 12px; align-items: baseline; padding: 3px 0; overflow-wrap: anywhere; }
.lines time { color: var(--soft); font-variant-numeric: tabular-nums; min-width: 3.2em; }
.lines .badge { white-space: nowrap; }
details { margin: 10px 0; } summary { cursor: pointer; color: var(--link); }
details > div { border-left: 2px solid var(--rule); padding-left: 16px; margin-top: 10px; }
@media (max-width: 760px) { .lines li { flex-wrap: wrap; } details > div { padding-left: 8px; } }
"""


def story_page(recording: StoryRecording, moments: Sequence[Moment]) -> str:
    """The page."""
    folder = importlib.resources.files("specdec_operator.web")
    style = folder.joinpath("style.css").read_text(encoding="utf-8") + _STYLE
    story = el(
        "div",
        el("h1", _TITLE),
        el("p", f"{RECORDED} No cluster was used to make this page.", class_="lead"),
        el("dl", *(join(el("dt", what), el("dd", where)) for what, where in sources(recording))),
        el("p", el("strong", outcome(moments))),
        *_chapters(moments),
        class_="story",
    )
    return page_in_one_file(_TITLE, style, el("span", "Made by `specdec demo --page`"), story)


def _chapters(moments: Sequence[Moment]) -> Iterator[Html]:
    before: Moment | None = None
    for number, (chapter, seen) in enumerate(chapters(moments), start=1):
        shown: list[StoryLine] = []
        for each in seen:
            shown += lines(before, each)
            before = each
        yield _chapter(number, chapter, shown, seen[-1])


def _chapter(number: int, chapter: Chapter, shown: Sequence[StoryLine], last: Moment) -> Html:
    service = SeenService(body=shown_of(last.service), pods=last.pods)
    summary = el("summary", f"The operator's page of the service at {clock(last.at)}: {last.phase}")
    speed = speeds(chapter)
    parts: list[Child] = [
        el("h2", f"{number}. {chapter.title}"),
        el("p", chapter.text),
        el("p", el("code", chapter.command)) if chapter.command else None,
        el("ul", *map(_line, shown), class_="lines") if shown else None,
        el("p", el("strong", speed)) if speed else None,
        el("details", summary, el("div", service_view(service, last.now)), open=chapter.until == "Responding"),
    ]
    return el("section", *parts, id=f"chapter-{number}")


def _line(line: StoryLine) -> Html:
    return el("li", el("time", line.clock), badge(line.head, line.tone), el("span", line.text))
