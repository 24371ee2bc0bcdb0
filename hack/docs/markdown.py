"""Links, headings and blocks of code of a Markdown page, as the repository's page and the site read them."""

import re
from collections.abc import Callable, Iterator
from typing import Final

_LINK: Final = re.compile(
    r"(?P<code>^(?P<fence>`{3,})[^\n]*\n.*?^(?P=fence)|`[^`\n]+`)|\]\((?P<to>[^)\s]+)\)", re.M | re.S
)
_BLOCK: Final = re.compile(r"^(?P<fence>`{3,})(?P<language>[^\n`]*)\n(?P<text>.*?)^(?P=fence)", re.M | re.S)
_HEADING: Final = re.compile(r"^#{1,6} +(?P<words>.+?)\s*$", re.M)


def links(text: str) -> Iterator[str]:
    """Every target of a link or picture, outside of code."""
    for found in _LINK.finditer(text):
        if found["to"]:
            yield found["to"]


def relinked(text: str, new: Callable[[str], str]) -> str:
    """The page with `new` of each target in its place; code stays as it is."""
    return _LINK.sub(lambda found: f"]({new(found['to'])})" if found["to"] else found[0], text)


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """Every fenced block: its language (may be empty) and its text."""
    for found in _BLOCK.finditer(text):
        yield found["language"].strip(), found["text"]


def without_blocks(text: str) -> str:
    """The page without its fenced blocks."""
    return _BLOCK.sub("", text)


def anchors(text: str) -> frozenset[str]:
    """The names by which a page's headings are linked to: lower case, words joined by dashes."""
    names: set[str] = set()
    for found in _HEADING.finditer(without_blocks(text)):
        words = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", found["words"])
        bare = re.sub(r"[^\w\s-]", "", words.replace("`", "")).strip().lower()
        names.add(re.sub(r"\s", "-", bare))
    return frozenset(names)
