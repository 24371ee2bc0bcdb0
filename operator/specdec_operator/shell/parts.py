"""What a script consists of beside its engine: all words and operators with their places, and redirections. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from specdec_operator.shell.grammar import tokens
from specdec_operator.shell.values import Frame
from specdec_operator.shell.word import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A word or operator of the whole command line, scripts inside of it included. span: None: it stands in no item."""

    text: str
    span: Span | None


def parts_of(frame: Frame) -> Iterator[Part]:
    """The words and operators of a script."""
    for each in tokens(frame.syntax):
        span = None
        if frame.item is not None:
            span = Span(item=frame.item, start=frame.offset + each.start, end=frame.offset + each.end)
        yield Part(text=each.text, span=span)


def files_of(node: Node, frame: Frame) -> Iterator[str]:
    """Redirections into files; those between the outputs of the command are not listed."""
    for each in node.children:
        if each.type != "file_redirect" or any(one.type in (">&", "<&") for one in each.children):
            continue
        target = each.child_by_field_name("destination")
        yield frame.syntax.text(each.start_byte, target.end_byte if target else each.end_byte)
