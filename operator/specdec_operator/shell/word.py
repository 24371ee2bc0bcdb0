"""A word of a command: as it is written, as its program gets it, and where it stands. Pure."""

from dataclasses import dataclass, replace
from typing import Final

_MOST_HINTED: Final = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Bytes of one item of command and args. whole: the item is the word, and goes as an item."""

    item: int
    start: int
    end: int
    whole: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """One argument of a command.

    text: as it is written. value: as the program gets it; None: only a shell knows it, and `why` has the reason.
    span: where it may be removed; None: `fixed` has the reason. verbatim: the byte of its item from which its value
    stands there unchanged; None: it does not. hint: what may be in it if its value is not known.
    """

    text: str
    value: str | None = None
    why: str = ""
    span: Span | None = None
    fixed: str = ""
    verbatim: int | None = None
    hint: str = ""

    def held(self, why: str) -> "Word":
        """The same word where it cannot be removed."""
        return replace(self, span=None, verbatim=None, fixed=self.fixed or why)


def hint_of(*texts: str) -> str:
    """Texts that a value may have, together. What is longer than a screen is cut: values may hold one another."""
    return "\n".join(dict.fromkeys(each for each in texts if each))[:_MOST_HINTED]


def plain(text: str, item: int) -> Word:
    """An item of command and args that no shell reads."""
    size = len(text.encode("utf-8", "surrogatepass"))
    return Word(text=text, value=text, span=Span(item=item, start=0, end=size, whole=True), verbatim=0)
