"""Links of the pages, as the repository shows them; `mkdocs build --strict` holds those of the site."""

import itertools
import posixpath
import re

import pytest
from hack.docs.markdown import anchors, links, without_blocks
from tests.unit.docs.doc_pages import PAGES, ROOT, read


def test_links_lead_to_files_and_headings_that_exist() -> None:
    """A link inside the repository names a file or folder, and where it has an anchor, a heading of that page."""
    broken = []
    for page, to in ((each, to) for each in PAGES for to in links(read(each))):
        if "://" in to or to.startswith("mailto:"):
            continue
        path, _, anchor = to.partition("#")
        found = ROOT / posixpath.normpath(posixpath.join(posixpath.dirname(page), path) if path else page)
        if not found.exists() or (anchor and anchor not in anchors(found.read_text(encoding="utf-8"))):
            broken.append((page, to))
    assert broken == []


def test_lists_begin_after_an_empty_line() -> None:
    """The site's Markdown takes a list right below a paragraph for more of the paragraph; the repository's does not."""
    item = re.compile(r"^(?:[-*]|\d+\.) ")
    stuck = [
        (page, line)
        for page in PAGES
        for before, line in itertools.pairwise(["", *without_blocks(read(page)).splitlines()])
        if item.match(line) and before.strip() and not item.match(before) and not before.startswith((" ", "#", "<!--"))
    ]
    assert stuck == []


def test_every_decision_is_in_the_index() -> None:
    """docs/decisions/README.md lists each page with the words of its heading."""
    index = read("docs/decisions/README.md")
    for path in sorted((ROOT / "docs" / "decisions").glob("0*.md")):
        number, _, title = path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ").partition(". ")
        assert f"{number}. [{title}]({path.name})" in index


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a [b](c.md) `[d](e)`", ["c.md"]),
        ("```\n[a](b)\n```\n[c](d#e)", ["d#e"]),
        ('![p](q.png "x")', []),
    ],
)
def test_links_in_code_are_ignored(text: str, found: list[str]) -> None:
    """The check does not follow links in a block or in inline code."""
    assert list(links(text)) == found


def test_anchors_are_named_as_the_repository_names_them() -> None:
    """Lower case, without signs, words joined by dashes. Headings inside of blocks do not count."""
    text = "# What `x y` shows, and why\n```\n# no\n```\n## A (b) — c\n"
    assert anchors(text) == {"what-x-y-shows-and-why", "a-b--c"}
