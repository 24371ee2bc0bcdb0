"""The site: built as `make docs` builds it."""

import os
import pathlib
import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest
from tests.unit.docs.doc_pages import ROOT


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The built site; the build is strict, so one warning fails it."""
    folder = tmp_path_factory.mktemp("site")
    argv = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    environ = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(argv, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


class _Loaded(HTMLParser):
    """What a browser loads for a page, in addition to the page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the addresses of scripts, styles, pictures and frames."""
        given = dict(attrs)
        if tag in ("script", "img", "iframe", "source") and given.get("src"):
            self.found.append(str(given["src"]))
        if tag == "link" and given.get("rel") != "canonical" and given.get("href"):
            self.found.append(str(given["href"]))


def test_nothing_is_loaded_from_elsewhere(site: pathlib.Path) -> None:
    """A reader without an internet connection sees everything, and no other site learns what is read."""
    for page in site.rglob("*.html"):
        loaded = _Loaded()
        loaded.feed(page.read_text(encoding="utf-8"))
        assert loaded.found
        assert not [each for each in loaded.found if re.match(r"(https?:)?//", each)]
    for style in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?(https?:)?//", style.read_text(encoding="utf-8"))


def test_there_is_a_page_for_what_is_not_there(site: pathlib.Path) -> None:
    """Servers of static pages answer with 404.html."""
    assert (site / "404.html").exists()


def test_search_finds_what_people_look_for(site: pathlib.Path) -> None:
    """The index is on the site itself; files of the repository are not in it."""
    index = (site / "search" / "search_index.json").read_text(encoding="utf-8")
    assert all(word in index for word in ("AcceptanceRateLow", "ClaimNotBound", "SPECDEC_NAMESPACES"))
    assert '"location":"source/' not in index


def test_a_link_to_a_file_of_the_repository_shows_the_file(site: pathlib.Path) -> None:
    """Pages link as they do in the repository; the site has a page for each such file."""
    security = (site / "security.html").read_text(encoding="utf-8")
    assert 'href="source/manifests/operator/rbac.yaml.html"' in security
    shown = (site / "source" / "manifests" / "operator" / "rbac.yaml.html").read_text(encoding="utf-8")
    assert "persistentvolumeclaims" in shown


def test_the_readme_is_the_front_page(site: pathlib.Path) -> None:
    front = (site / "index.html").read_text(encoding="utf-8")
    assert 'href="guard.html"' in front
    assert 'src="demo/demo.png"' in front
