"""Removes the flags of speculation from command and args, by the bytes of whole words, or has the reason why not. Pure.

What is left is read again. It must be what was read before, without those words: the grammar is not bash itself.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from specdec_operator.guest.flags import Asked, Container, asked_of
from specdec_operator.shell.reading import Reading, items_of, read_container
from specdec_operator.shell.word import Span, Word

_BLANKS: Final = re.compile(rb"[ \t]+$")
_ENDS: Final = (b" ", b"\t", b"\n", b"")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Command or args with the flags, and without. field: which of the two it is."""

    field: str
    value: list[str]
    baseline: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoCut:
    """Why the flags cannot be removed."""

    why: str


def cut(container: Container) -> Cut | NoCut | None:
    """What is left of a container's command or args without speculation; None: it asks for none."""
    reading = read_container(container)
    asked = asked_of(reading)
    if not asked.asks:
        return None
    if why := _refused(reading, asked):
        return NoCut(why=why)
    items = items_of(container)
    spans = [word.span for group in asked.groups for word in group if word.span]
    fields = {items[each.item][0] for each in spans}
    if len(fields) != 1:
        return NoCut(why="the flags stand in command and in args, and the guard changes one of the two")
    (field,) = fields
    texts = [text if name == field else None for name, text in items]
    left = [
        _without(text, [each for each in spans if each.item == at]) for at, text in enumerate(texts) if text is not None
    ]
    made = Cut(
        field=field,
        value=[each for each in texts if each is not None],
        baseline=[each for each in left if each is not None],
    )
    if not _is_the_rest(container, made, reading, spans):
        return NoCut(why=_at(reading, "what would be left is not the same command without the flags"))
    return made


def _refused(reading: Reading, asked: Asked) -> str:
    """Why the flags cannot be removed; empty: they can be tried."""
    engine = reading.engine
    if engine is None or reading.troubles:
        return reading.doubt
    if engine.start.doubt and engine.line:
        return _at(reading, engine.start.doubt)
    if engine.branch:
        return _at(reading, engine.branch)
    if asked.hidden is not None:
        return _at(reading, f"{_short(asked.hidden)} may hold such a flag, and {asked.hidden.fixed or 'is one word'}")
    held = next((word for group in asked.groups for word in group if word.span is None), None)
    return _at(reading, f"{_short(held)} cannot be removed: {held.fixed}") if held else ""


def _at(reading: Reading, why: str) -> str:
    line = reading.engine.line if reading.engine else 0
    return f"line {line}: {why}" if line else why


def _short(word: Word) -> str:
    return word.text if len(word.text) <= 80 else f"{word.text[:80]}..."


def _without(text: str, spans: Sequence[Span]) -> str | None:
    """An item without words; None: it is one of them. The blanks before a word go with it if others follow it."""
    if any(each.whole for each in spans):
        return None
    source = text.encode("utf-8", "surrogatepass")
    left, end = [], 0
    for each in sorted(spans, key=lambda span: span.start):
        kept = source[end : each.start]
        kept = _BLANKS.sub(b"", kept) if source[each.end : each.end + 1] in _ENDS and _is_free(kept) else kept
        left.append(kept)
        end = each.end
    return b"".join([*left, source[end:]]).decode("utf-8", "surrogatepass")


def _is_free(kept: bytes) -> bool:
    """Whether the blanks at the end of this are not escaped."""
    return not kept.rstrip(b" \t").endswith(b"\\")


def _is_the_rest(container: Container, made: Cut, before: Reading, spans: Iterable[Span]) -> bool:
    after = read_container({**container, made.field: made.baseline})
    gone = set(spans)
    same = [each.text for each in before.parts if each.span not in gone] == [each.text for each in after.parts]
    others = (before.before, before.after) == (after.before, after.after)
    left = [_told(each) for each in before.words if each.span not in gone] == [_told(each) for each in after.words]
    return same and others and left and not after.troubles and not asked_of(after).asks


def _told(word: Word) -> tuple[str, str | None]:
    return word.text, word.value
