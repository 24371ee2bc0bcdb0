"""A script as the grammar of bash reads it: its tree, its tokens, and why it cannot be read. Pure.

Each call makes a parser of its own: one parser may not be used by two threads.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

_LANGUAGE: Final = Language(tree_sitter_bash.language())
_MOST_NESTED: Final = 60
"""Levels of a tree that are followed; the grammar nests `a && b && c` once for each command, so lists do not count."""
_EMPTY: Final = Parser(_LANGUAGE).parse(b"").root_node
_NOT_BASH: Final = "it cannot be read: bash's grammar does not have it"
_CHUNK: Final = 4096
_OPERATORS: Final = re.compile(rb"[|(){}<>\[\]$`&]")
_MOST_OPERATORS: Final = 2_000
_MOST_NODES: Final = 40_000
"""Of one script; one of 300 lines has about 5,000."""
_ODD: Final = re.compile(r"[^\S \t\n]|[\x00-\x08\x0e-\x1f\x7f]")
"""Characters that the grammar reads as blanks and bash as parts of words, or that no program can be given."""
_WHOLE: Final = frozenset(
    {
        *("word", "number", "string", "raw_string", "ansi_c_string", "translated_string", "concatenation"),
        *("simple_expansion", "expansion", "command_substitution", "arithmetic_expansion", "process_substitution"),
        *("brace_expression", "variable_assignment", "heredoc_body", "test_command"),
    }
)
"""Nodes that are one token each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """What is not certain of a script, and where. line: from 1; 0: it is of no line."""

    why: str
    line: int = 0

    def __str__(self) -> str:
        return f"line {self.line}: {self.why}" if self.line else self.why


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A word or an operator of a script, in bytes from its begin. Comments and blanks are not tokens."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Syntax:
    """A script's tree. trouble: why the tree cannot be trusted. unreadable: whether it has nothing to follow."""

    source: bytes
    root: Node
    trouble: Trouble | None
    unreadable: bool

    def text(self, start: int, end: int) -> str:
        """The source between two bytes."""
        return self.source[start:end].decode("utf-8", "surrogatepass")

    def is_new_line(self, start: int, end: int) -> bool:
        """Whether a line ends between two bytes; one that goes on does not."""
        return b"\n" in self.source[start:end].replace(b"\\\n", b"")


def parse(script: str) -> Syntax:
    """The tree of a script. Never raises. One that cannot be read has the tree of an empty script."""
    source = script.encode("utf-8", "surrogatepass")
    root, broken = _tree(_without_tail(source))
    broken = broken or _too_long(root) or _broken(root) or _too_deep(root)
    return Syntax(source=source, root=root, trouble=broken or _odd(script), unreadable=broken is not None)


def _tree(source: bytes) -> tuple[Node, Trouble | None]:
    """The tree, and why there is none. The grammar's search behind an error grows with the square of a script.

    So that search ends at the first error, and a script with more operators than people write is not begun.
    """
    if len(_OPERATORS.findall(source)) > _MOST_OPERATORS:
        return _EMPTY, Trouble(why=f"it has more than {_MOST_OPERATORS} operators, and the operator does not follow it")
    reached = 0

    def failed(offset: int, has_error: bool) -> bool:
        nonlocal reached
        reached = offset
        return has_error

    try:
        tree = Parser(_LANGUAGE).parse(lambda at, _: source[at : at + _CHUNK], progress_callback=failed)
    except ValueError:
        return _EMPTY, Trouble(line=source.count(b"\n", 0, reached) + 1, why=_NOT_BASH)
    return tree.root_node, None


def line_of(node: Node) -> int:
    """The line of a script on which a node begins, from 1."""
    return node.start_point[0] + 1


def tokens(syntax: Syntax) -> Iterator[Token]:
    """The words and operators of a script in their order; one token for a script that cannot be read."""
    if syntax.unreadable:
        yield Token(text=syntax.text(0, len(syntax.source)), start=0, end=len(syntax.source))
        return
    cursor = syntax.root.walk()
    while True:
        node = cursor.node
        whole = node is not None and (node.type in _WHOLE or node.child_count == 0)
        if node is not None and whole and node.type != "comment":
            text = syntax.text(node.start_byte, node.end_byte)
            if text.strip():
                yield Token(text=text, start=node.start_byte, end=node.end_byte)
        if not whole and cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return


def _without_tail(source: bytes) -> bytes:
    """A script without a last line that goes on to nothing: bash drops it, and the grammar takes it for a word."""
    end = len(source)
    while True:
        at = end
        while at and source[at - 1 : at] in (b" ", b"\t"):
            at -= 1
        if source[max(at - 2, 0) : at] != b"\\\n" or _slashes(source, at - 1) % 2 == 0:
            return source[:end]
        end = at - 2


def _slashes(source: bytes, end: int) -> int:
    """The backslashes in front of a byte."""
    at = end
    while at and source[at - 1 : at] == b"\\":
        at -= 1
    return end - at


def _odd(script: str) -> Trouble | None:
    found = _ODD.search(script)
    if found is None:
        return None
    line = script.count("\n", 0, found.start()) + 1
    return Trouble(line=line, why=f"it has the character {found[0]!r}, which a shell takes for a part of a word")


def _broken(root: Node) -> Trouble | None:
    """The first place that the grammar does not know."""
    node = root
    while node.has_error:
        if node.is_error or node.is_missing:
            return Trouble(line=line_of(node), why=_NOT_BASH)
        node = next(each for each in node.children if each.has_error or each.is_missing)
        if node.is_missing:
            return Trouble(line=line_of(node), why=f"it cannot be read: {node.type} is missing")
    return None


def _too_long(root: Node) -> Trouble | None:
    if root.descendant_count <= _MOST_NODES:
        return None
    return Trouble(why=f"it has more than {_MOST_NODES} words and operators, so the operator does not follow it")


def _too_deep(root: Node) -> Trouble | None:
    cursor, depth = root.walk(), 0
    counted: list[bool] = []
    while True:
        node = cursor.node
        if node is not None and cursor.goto_first_child():
            counted.append(node.type != "list")
            depth += counted[-1]
            if depth > _MOST_NESTED:
                return Trouble(line=line_of(node), why=f"it nests more than {_MOST_NESTED} levels")
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return None
            depth -= counted.pop()
