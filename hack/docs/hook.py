"""Changes of mkdocs' build. A folder in the nav stands for all of its pages. A link to a file of the repository that is
not a page leads to a page that shows the file. So pages link as they do in the repository, and the site does not need
the repository's address."""

import os
import pathlib
import posixpath
from collections.abc import Iterator
from typing import Any, Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

from hack.docs.markdown import links, relinked

_ROOT: Final = pathlib.Path(__file__).parents[2]
_FRONT: Final = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "SECURITY.md": "reporting.md"}
"""Files of the repository's root that are pages of the site as they are."""
_PAGES: Final = {**_FRONT, "CONTRIBUTING.md": "contributing.md"}
"""Which page stands for a file of the root."""
_SOURCE: Final = "source"
_LANGUAGES: Final = {".py": "python", ".yaml": "yaml", ".yml": "yaml", ".json": "json", ".lua": "lua", ".go": "go"}
_FENCE: Final = "``````"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages of a folder in the place of its name."""
    config.nav = _expanded(config.nav or [], pathlib.Path(config.docs_dir))
    return config


def _expanded(nav: Any, docs: pathlib.Path) -> Any:
    if isinstance(nav, list):
        return [_expanded(each, docs) for each in nav]
    if isinstance(nav, dict):
        return {title: _expanded(below, docs) for title, below in nav.items()}
    if not nav.endswith("/"):
        return nav
    pages = sorted((docs / nav).glob("*.md"), key=lambda page: (page.stem not in ("README", "index"), page.name))
    return [f"{nav}{page.name}" for page in pages]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that lie in the root, and one for each file of the repository that a page links to."""
    for path, page in _FRONT.items():
        text = (_ROOT / path).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=relinked(text, _from_root)))
    told = {outer for file in files.documentation_pages() for outer in _outer(file.src_uri, file.content_string)}
    for path in sorted(told - _PAGES.keys()):
        text = _shown(path)
        files.append(File.generated(config, _page_of(path), content=text, inclusion=InclusionLevel.NOT_IN_NAV))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links that leave docs/ to the pages that stand for their targets."""
    return relinked(markdown, lambda to: _inner(page.file.src_uri, to))


def _from_root(to: str) -> str:
    """A link of a file in the root, as a page of docs/ has it."""
    if "://" in to or to.startswith("#"):
        return to
    return to.removeprefix("docs/") if to.startswith("docs/") else f"../{to}"


def _outer(page: str, text: str) -> Iterator[str]:
    """The files and folders outside of docs/ that a page links to, from the repository's root."""
    for to in links(text):
        if (path := _leaving(page, to)) and (_ROOT / path).exists():
            yield path


def _leaving(page: str, to: str) -> str | None:
    """The target of a link, from the repository's root; None if it stays in docs/ or leaves the repository."""
    if "://" in to or to.startswith(("#", "mailto:")):
        return None
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), to.partition("#")[0]))
    return None if path.startswith(("docs/", "..")) else path


def _inner(page: str, to: str) -> str:
    path = _leaving(page, to)
    if path is None or not (_ROOT / path).exists():
        return to  # mkdocs reports what is missing
    anchor = to.partition("#")[1] + to.partition("#")[2]
    return posixpath.relpath(_PAGES.get(path, _page_of(path)), posixpath.dirname(page) or ".") + anchor


def _page_of(path: str) -> str:
    return f"{_SOURCE}/{path}.md"


def _shown(path: str) -> str:
    """A page that shows a file, or names what is in a folder."""
    found = _ROOT / path
    head = f"---\ntitle: {path}\nsearch:\n  exclude: true\n---\n\n# {path}\n\n"
    if found.is_dir():
        return head + "\n".join(f"- `{name}`" for name in sorted(os.listdir(found)) if not name.startswith(("_", ".")))
    language = _LANGUAGES.get(found.suffix, "text")
    return f"{head}{_FENCE}{language}\n{found.read_text(encoding='utf-8')}\n{_FENCE}\n"
