"""HTML as nested calls. Whatever is not HTML already is escaped: names and messages come from tenants.

Signs that cannot be seen become spaces: those that turn the direction of writing make a text read as another one.
"""

from functools import cache
from html import escape
from typing import Final, TypeAlias

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
    name = _name(key)
    if value is True:
        return f" {name}"
    return f' {name}="{_plain(value) if isinstance(value, str) else value}"'


def _plain(text: str) -> str:
    return escape(text if text.isprintable() else "".join(each if each.isprintable() else " " for each in text))


@cache
def _name(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def document(root: Html) -> str:
    """A whole page."""
    return f"<!doctype html>\n{root}\n"
