"""What a shell makes of a written word: none, one or several words, each with its value if that is certain. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tree_sitter import Node

from specdec_operator.shell.grammar import Syntax
from specdec_operator.shell.variables import Variable, Variables
from specdec_operator.shell.word import Span, Word, hint_of

_BARE_ESCAPE: Final = re.compile(r"\\(\n|.)", re.DOTALL)
_QUOTED_ESCAPE: Final = re.compile(r'\\([$`"\\\n])')
_ANSI: Final = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "\\": "\\", "'": "'", '"': '"'}
_ANSI_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_BRACES: Final = re.compile(r"\{[^}]*(?:,|\.\.)[^}]*\}")
_GLOB: Final = re.compile(r"[*?]|\[[^]]*\]")
_GIVEN: Final = re.compile(r"\$\$|\$\(([A-Za-z_.-][\w.-]*)\)")
_HARMLESS: Final = re.compile(r"[\w./:@%+,=-]*")
_PLAIN: Final = re.compile(r"[A-Za-z0-9_./:=@%+,-]+")
"""Words that every shell leaves as they are: most of them."""
_QUOTED: Final = "\0"
"""Stands for what is quoted while unquoted characters are looked for."""
_WORD: Final = 16
"""What a word costs beside its bytes."""
_GLUED: Final = "it has no blank before the next word"
_DEFAULTS: Final = (":-", "-")
_ALL_ARGUMENTS: Final = ("@", "*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A script that is read. item: of the container's command and args; None: of none. offset: of its first byte there.

    bash: whether bash reads it; other shells do not know all of its forms.
    """

    syntax: Syntax
    item: int | None
    offset: int = 0
    bash: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """A part of a word. value: None if only a shell knows it. split: whether a shell makes words of its blanks.

    bare: its unquoted characters. several: whether it may be another number of words than one.
    """

    value: str | None
    why: str = ""
    bare: str = ""
    split: bool = False
    several: bool = False
    acts: bool = False
    hint: str = ""


def given(text: str, known: Mapping[str, str | None]) -> tuple[str | None, str]:
    """A text after Kubernetes has put variables of the container in for $(NAME). None, and the name, if one is unknown.

    Names that the container does not have stay as they are, as they do there.
    """
    unknown: list[str] = []

    def value(found: re.Match[str]) -> str:
        if found[1] is None:
            return "$"
        if found[1] not in known:
            return found[0]
        if (text := known[found[1]]) is None or "$(" in text:
            unknown.append(found[1])
        return text or ""

    made = _GIVEN.sub(value, text)
    return (None, unknown[0]) if unknown else (made, "")


def words_of(node: Node, frame: Frame, variables: Variables) -> Iterator[Word]:
    """The words that a shell makes of a node of the tree."""
    text = frame.syntax.text(node.start_byte, node.end_byte)
    if node.type in ("word", "number") and _PLAIN.fullmatch(text):
        span = _span(node, frame)
        yield Word(text=text, value=text, span=span, verbatim=span.start if span else None)
        return
    if (every := _whole_list(node, frame, variables)) is not None:
        known = variables.spend(sum(len(each.text) + _WORD for each in every))
        yield from (each.held(f"it comes from {text}") for each in (every if known else ()))
        return
    pieces = tuple(_pieces(node, frame, variables))
    yield from _split(node, text, pieces, frame, variables)


def command_words(nodes: Sequence[Node], frame: Frame, variables: Variables) -> list[Word]:
    """The words of a command. Those without a blank between them are one word for bash, which is unknown here."""
    made: list[Word] = []
    end = -1
    for node in nodes:
        found = list(words_of(node, frame, variables))
        between = frame.syntax.source[max(end, 0) : node.start_byte].replace(b"\\\n", b"")
        if made and end >= 0 and not between:
            found = [replace(each.held(_GLUED), value=None, why=_GLUED) for each in found]
            made[-1] = replace(made[-1].held(_GLUED), value=None, why=_GLUED)
        made += found
        end = node.end_byte
    return made


def _split(node: Node, text: str, pieces: tuple[_Piece, ...], frame: Frame, variables: Variables) -> Iterator[Word]:
    span = _span(node, frame)
    several = any(each.several for each in pieces)
    fixed = "it comes from a variable, and only a shell knows its number of words" if several else ""
    if any(each.acts for each in pieces):
        fixed = "a shell runs a command for its value"
    fixed = fixed or ("" if span else "its text is not that of the manifest")
    word = Word(text=text, span=None if fixed else span, fixed=fixed, hint=hint_of(*(each.hint for each in pieces)))
    why = next((each.why for each in pieces if each.value is None), "") or _unsure(text, pieces, frame)
    values = [each.value or "" for each in pieces]
    split = any(each.split for each in pieces)
    if not why and not variables.spend(sum(map(len, values)) * (_WORD if split else 1)):
        why = "has a value that is too long"
    if why:
        yield replace(word, why=why, span=None if _expands(pieces, frame) else word.span)
    elif split:
        yield from _fields(word, pieces)
    else:
        yield replace(word, value="".join(values), verbatim=_verbatim(node, frame, "".join(values)))


def _fields(word: Word, pieces: tuple[_Piece, ...]) -> Iterator[Word]:
    """The words of pieces of which a shell splits some at blanks."""
    made: list[str] = []
    here = False
    for each in pieces:
        value = each.value or ""
        parts = re.split(r"[ \t\n]+", value) if each.split else [value]
        for at, part in enumerate(parts):
            if at and here:
                made.append("\1")
                here = False
            if part or not each.split:
                made.append(part)
                here = True
    whole = "".join(made)
    fields = whole.split("\1") if made else []
    fields = fields[:-1] if made and not here else fields
    yield from (replace(word.held("it comes from a variable"), value=each) for each in fields)


def _span(node: Node, frame: Frame) -> Span | None:
    if frame.item is None:
        return None
    return Span(item=frame.item, start=frame.offset + node.start_byte, end=frame.offset + node.end_byte)


def _verbatim(node: Node, frame: Frame, value: str) -> int | None:
    """Where the value stands unchanged between its quotes."""
    start = node.start_byte + (node.type in ("raw_string", "string"))
    size = len(value.encode("utf-8", "surrogatepass"))
    same = frame.syntax.source[start : start + size] == value.encode("utf-8", "surrogatepass")
    return frame.offset + start if same and frame.item is not None else None


def _unsure(text: str, pieces: tuple[_Piece, ...], frame: Frame) -> str:
    """Why a shell may make something else of a word that has no unknown part."""
    bare = "".join(each.bare if each.bare or each.split else _QUOTED for each in pieces)
    if _expands(pieces, frame):
        return "is several words by its braces"
    if bare.startswith("~"):
        return "names a home folder"
    if _GLOB.search(bare) and not text.startswith("-"):
        return "names files by a pattern"
    return ""


def _expands(pieces: tuple[_Piece, ...], frame: Frame) -> bool:
    return frame.bash and _BRACES.search("".join(each.bare or _QUOTED for each in pieces)) is not None


def _whole_list(node: Node, frame: Frame, variables: Variables) -> tuple[Word, ...] | None:
    """The words of "$@", $@, "${ARGS[@]}" or ${ARGS[@]}, if they are known."""
    inner = node
    if node.type == "string":
        if node.named_child_count != 1 or node.child_count != 3:
            return None
        inner = node.named_children[0]
        if (inner.start_byte, inner.end_byte) != (node.start_byte + 1, node.end_byte - 1):
            return None
    text = frame.syntax.text(inner.start_byte, inner.end_byte)
    if text in ("$@", "${@}") or (text in ("$*", "${*}") and inner is node):
        every = variables.arguments
    elif found := re.fullmatch(r"\$\{(\w+)\[@\]\}", text):
        variable = variables.get(found[1])
        every = variable.words if variable else None
    else:
        return None
    plain = every is not None and (
        inner is not node or not any(re.search(r"[\s*?[]", each.value or " ") for each in every)
    )
    return every if plain else None


def _pieces(node: Node, frame: Frame, variables: Variables, *, quoted: bool = False) -> Iterator[_Piece]:
    text = frame.syntax.text(node.start_byte, node.end_byte)
    match node.type:
        case "word" | "number" | "test_operator" | "extglob_pattern":
            bare = _BARE_ESCAPE.sub("", text)
            value, name = given(_BARE_ESCAPE.sub(lambda found: found[1].strip("\n"), text), variables.known)
            yield _Piece(value=value, bare=bare, why=_missing(name))
        case "raw_string":
            value, name = given(text[1:-1], variables.known)
            yield _Piece(value=value, why=_missing(name))
        case "ansi_c_string":
            yield _ansi(text, frame)
        case "string" | "concatenation":
            yield from _parts(node, frame, variables, quoted=quoted or node.type == "string")
        case "command_name":
            yield from _pieces(node.children[0], frame, variables)
        case "simple_expansion" | "expansion":
            yield from _expansion(node, frame, variables, quoted=quoted)
        case "command_substitution" if found := _GIVEN.fullmatch(text):
            yield _inserted(found[1], text, variables, quoted=quoted)
        case _:
            why = f"uses {text}, which only a shell can expand"
            yield _Piece(value=None, why=why, several=not quoted, acts="substitution" in node.type, hint=text)


def _parts(node: Node, frame: Frame, variables: Variables, *, quoted: bool) -> Iterator[_Piece]:
    """The children of a string or of glued parts, and what the tree leaves out between them."""
    string = node.type == "string"
    at = node.start_byte + string
    for child in node.children[1:-1] if string else node.children:
        if gap := frame.syntax.text(at, max(at, child.start_byte)):
            yield _literal(gap, quoted=string)
        if child.type == "string_content" or (string and not child.is_named):
            yield _literal(frame.syntax.text(child.start_byte, child.end_byte), quoted=True)
        else:
            yield from _pieces(child, frame, variables, quoted=quoted)
        at = child.end_byte
    if gap := frame.syntax.text(at, max(at, node.end_byte - string)):
        yield _literal(gap, quoted=string)


def _literal(text: str, *, quoted: bool) -> _Piece:
    if quoted:
        return _Piece(value=_QUOTED_ESCAPE.sub(lambda found: found[1].strip("\n"), text))
    joined = text.replace("\\\n", "")
    why = "has blanks between its parts" if joined.strip() != joined else ""
    return _Piece(value=None if why else joined, bare=joined, why=why, several=bool(why))


def _ansi(text: str, frame: Frame) -> _Piece:
    body = text[2:-1]
    if not frame.bash or any(each not in _ANSI for each in _ANSI_ESCAPE.findall(body)):
        return _Piece(value=None, why=f"uses {text}, which some shells read in another way")
    return _Piece(value=_ANSI_ESCAPE.sub(lambda found: _ANSI[found[1]], body))


def _missing(name: str) -> str:
    return f"uses $({name}), whose value is not in the manifest" if name else ""


def _inserted(name: str | None, text: str, variables: Variables, *, quoted: bool) -> _Piece:
    """$(NAME): Kubernetes puts the container's variable in, before a shell reads the script; others are commands."""
    if name is None or name not in variables.known:
        why = f"uses {text}, which only a shell can expand"
        return _Piece(value=None, why=why, several=not quoted, acts=True, hint=text)
    value = variables.known[name]
    if value is None or not _HARMLESS.fullmatch(value):
        return _Piece(value=None, why=_missing(name), several=not quoted)
    return _Piece(value=value, several=not quoted and not value)


def _expansion(node: Node, frame: Frame, variables: Variables, *, quoted: bool) -> Iterator[_Piece]:
    text = frame.syntax.text(node.start_byte, node.end_byte)
    inner = [each for each in node.children if each.type not in ("$", "${", "}")]
    name = frame.syntax.text(inner[0].start_byte, inner[0].end_byte) if inner else ""
    simple = bool(inner) and inner[0].type in ("variable_name", "special_variable_name")
    of_array = bool(inner) and inner[0].type == "subscript"
    found = _variable(name.partition("[")[0], variables) if simple or of_array else None
    if simple and len(inner) == 1:
        yield _of_variable(found, name, quoted=quoted)
        return
    operator = inner[1].type if simple and len(inner) > 1 else ""
    if operator not in _DEFAULTS or (found is not None and found.value is None):
        why = found.why if found and found.why else f"uses {text}, whose value is known to a shell only"
        acts = operator in (":=", "=", ":?", "?")
        hint = hint_of(text, found.hint if found else "")
        yield _Piece(value=None, why=why, several=not quoted, acts=acts or "$(" in text, hint=hint)
    elif found is not None and (found.value or operator == "-"):
        yield _of_variable(found, name, quoted=quoted)
    else:
        for each in _default(inner[2:], node, frame, variables):
            yield replace(each, split=not quoted, several=not quoted, hint=text)


def _default(nodes: list[Node], node: Node, frame: Frame, variables: Variables) -> Iterator[_Piece]:
    """The text behind `:-`."""
    for each in nodes:
        yield from _pieces(each, frame, variables, quoted=True)
    if not nodes:
        yield _Piece(value="")


def _of_variable(found: Variable | None, name: str, *, quoted: bool) -> _Piece:
    if found is None:
        why = f"uses {name}, whose value is not in the manifest"
        return _Piece(value=None, why=why, several=not quoted)
    if found.value is None or (not quoted and _GLOB.search(found.value)):
        why = found.why or f"uses {name}, whose value is known to a shell only"
        return _Piece(value=None, why=why, several=not quoted, hint=found.hint or found.text)
    return _Piece(value=found.value, split=not quoted, several=not quoted, hint=found.hint)


def _variable(name: str, variables: Variables) -> Variable | None:
    """A variable by name; an argument of the script by number."""
    if not name.isdecimal():
        if name in _ALL_ARGUMENTS and variables.arguments is not None:
            values = [each.value for each in variables.arguments]
            joined = None if None in values else " ".join(each or "" for each in values)
            return Variable(value=joined, why="uses all arguments")
        return None if re.fullmatch(r"\W", name) else variables.get(name)
    if name == "0" and variables.program is not None:
        return Variable(value=variables.program.value, why=variables.program.why)
    if variables.arguments is None or name == "0":
        return None
    at = int(name[:4]) - 1
    if at >= len(variables.arguments):
        return Variable(value="")
    found = variables.arguments[at]
    return Variable(value=found.value, why=found.why, hint=found.hint)
